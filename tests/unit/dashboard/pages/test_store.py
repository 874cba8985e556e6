"""Stores: what brokers tell, files on this machine, and verify as a job."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.dashboard.site import Site, site_of

from sprocketmq import Message
from sprocketmq.client.sync import Producer
from sprocketmq.testing import EmbeddedCluster


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    directory = tmp_path_factory.mktemp("stored")
    with EmbeddedCluster(directory):
        pass  # a store that was stopped once has a checkpoint
    with EmbeddedCluster(directory) as cluster, Producer("p", cluster.nameserver) as producer:
        producer.send(Message("t", b"kept"))
        stores = (directory / "store", Path("/nowhere"))
        client, console = site_of(cluster, write=True, stores=stores, runs=directory / "runs")
        with client:
            yield Site(client, console, cluster)


def test_what_brokers_tell_and_files_on_this_machine(stored: Site) -> None:
    shown = stored.get("/store")
    assert "<dt>Dispatch behind</dt><dd><span>0 B" in shown
    assert '<th scope="row">commitlog</th><td class="n">' in shown
    assert "There is no store in this folder." in shown


def test_verify_is_a_job_with_a_result(stored: Site) -> None:
    shown = stored.post("/store/0/verify")
    assert "verify " in shown
    (job,) = stored.console.jobs.of("verify")
    deadline = time.monotonic() + 60
    while job.is_running and time.monotonic() < deadline:
        stored.get(f"/jobs/{job.name}")
    assert "No problems found." in stored.get(f"/jobs/{job.name}")
    assert stored.changes[0][0] == "store verify"
    assert "done" in stored.get("/store")


def test_only_stores_that_were_named(stored: Site) -> None:
    for number in ("2", "-1", "x"):
        assert "There is no such store." in stored.post(f"/store/{number}/verify", 404)
    assert "no such job" in stored.get("/jobs/nothing", 404)
