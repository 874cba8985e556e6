"""A topic is changed where it is, and brokers that do not have it stay without."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.peers.sprocket import SprocketBroker, SprocketNameServer
from tests.unit.dashboard.site import HOME

from sprocketmq.client.options import ClientOptions
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.dashboard.app import make_app
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console

_FIELDS = {"write_queues": "4", "read_queues": "4", "readable": "on", "writable": "on", "type": "", "broker": ""}


class _NameServer(SprocketNameServer):
    def command(self) -> list[str]:
        return [*super().command(), "--set", "orderMessageEnable=true"]


@pytest.fixture(scope="module")
def nameserver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the brokers `broker-a` and `broker-b`."""
    folder: Path = tmp_path_factory.mktemp("two")
    server = _NameServer(folder / "nameserver").start()
    brokers = [SprocketBroker(folder / name, server.address, {"brokerName": name}) for name in ("broker-a", "broker-b")]
    try:
        for broker in brokers:
            broker.start()
        yield server.address
    finally:
        for each in (*brokers, server):
            each.kill()


@pytest.fixture(scope="module")
def admin(nameserver: str) -> Iterator[AdminClient]:
    with AdminClient(nameserver) as client:
        yield client


def test_by_the_console(nameserver: str, admin: AdminClient) -> None:
    admin.topics.create("one-place", broker="broker-b", queues=1)
    console = Console(ConsoleConfig(ClientOptions.of(nameserver), write=True))
    with TestClient(make_app(console), base_url=HOME) as client:
        form = client.get("/topics/one-place/change").text
        token = re.search(r'name="csrf" value="([^"]+)"', form)
        assert token is not None
        assert "every broker that has it" in form
        fields = _FIELDS | {"csrf": token[1]}
        assert "Topic one-place was changed on broker-b." in client.post("/topics/one-place/change", data=fields).text
        places = {name: each.write_queue_nums for name, each in admin.topics.config("one-place").items()}
        assert places == {"broker-b": 4}
        made = client.post("/new/topic", data=fields | {"name": "two-places"}).text
        assert "Topic two-places was created on broker-a, broker-b." in made


def test_the_fixed_list_of_an_ordered_topic_keeps_the_queues_of_other_brokers(admin: AdminClient) -> None:
    """As `mqadmin updateTopic -b -o` keeps them."""
    admin.topics.create("in-order", queues=2, order=True)
    assert admin.topics.route("in-order").order_conf == "broker-a:2;broker-b:2"
    admin.topics.create("in-order", broker="broker-b", queues=3, order=True)
    assert admin.topics.route("in-order").order_conf == "broker-a:2;broker-b:3"
