"""Signing in, and users and policies, against a broker with access control."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.unit.dashboard.site import Site, site_of

from sprocketmq.dashboard.console import Seat
from sprocketmq.dashboard.jobs.job import Job
from sprocketmq.dashboard.pages.sign_in import _inside
from sprocketmq.job_records import ENVIRONMENT, recorded
from sprocketmq.testing import EmbeddedCluster

CONF = {
    "authenticationEnabled": "true",
    "authorizationEnabled": "true",
    "initAuthenticationUser": '{"username":"root","password":"r00t-secret"}',
    "innerClientAuthenticationCredentials": '{"accessKey":"root","secretKey":"r00t-secret"}',
}


@pytest.fixture(scope="module")
def guarded() -> Iterator[Site]:
    with EmbeddedCluster(conf=CONF) as cluster:
        client, console = site_of(cluster, host="0.0.0.0")
        with client:
            yield Site(client, console, cluster)


@pytest.fixture
def signed_in(guarded: Site) -> Site:
    guarded.client.cookies.clear()
    assert "Overview" in guarded.post("/sign-in", access_key="root", secret_key="r00t-secret", next="/")
    return guarded


def test_nobody_sees_anything_before_they_sign_in(guarded: Site) -> None:
    guarded.client.cookies.clear()
    for path in (
        "/",
        "/topics",
        "/access",
        "/live/overview",
        "/store",
        "/topics?q=a&kind=retry",
        "/topics/%25RETRY%25g",
    ):
        answer = guarded.client.get(path, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/sign-in?next={quote(path)}")
    refused = guarded.client.post("/new/topic", data={"csrf": "x"}, follow_redirects=False)
    assert refused.headers["location"] == "/sign-in"


def test_wrong_keys_are_refused_with_the_brokers_word(guarded: Site) -> None:
    guarded.client.cookies.clear()
    shown = guarded.post("/sign-in", 403, access_key="root", secret_key="wrong", next="/")
    assert "The broker does not let root in" in shown
    assert "wrong" not in shown.replace("wrong keys", ""), "what was typed as a password is not shown"
    assert guarded.console.audit.changes[0].action == "sign in"


def test_who_signed_in_may_change_things_and_sign_out(signed_in: Site) -> None:
    fields = {"write_queues": "1", "read_queues": "1", "readable": "on", "writable": "on", "type": "", "broker": ""}
    assert "Topic guarded was created on" in signed_in.post("/new/topic", name="guarded", **fields)
    assert signed_in.console.audit.changes[0].account == "root"
    signed_in.post("/sign-out")
    assert signed_in.client.get("/topics", follow_redirects=False).status_code == 303


def test_users_and_policies(signed_in: Site) -> None:
    page = signed_in.post("/access/users", name="ada", password="s3cret-word", type="Normal")
    assert "User ada was created." in page
    assert "s3cret-word" not in page
    assert "r00t-secret" not in page, "no secret is shown"
    policy = {"user": "ada", "kind": "Topic", "resource": "orders", "decision": "Allow", "addresses": "10.0.0.1"}
    page = signed_in.post("/access/policies", action=["Pub", "Get"], **policy)
    assert "Topic:orders" in page
    page = signed_in.post("/access/policies", action=["Sub"], **(policy | {"kind": "Group", "resource": "billing"}))
    assert "<td>Topic:orders</td>" in page, "the first entry stays"
    assert "Group:billing" in page
    there = "/access/policies/delete?subject=User%3Aada&amp;resource=Topic%3Aorders"
    assert f'href="{there}"' in page
    there = there.replace("&amp;", "&")
    assert "Delete policy Topic:orders of User:ada?" in signed_in.get(there)
    assert "nothing was deleted" in signed_in.post(there, 400, typed="Topic:other")
    page = signed_in.post(there, typed="Topic:orders")
    assert "<td>Topic:orders</td>" not in page
    for what, done in {"disable": "disabled", "enable": "enabled", "password": "password changed"}.items():
        page = signed_in.post("/access/users/change", name="ada", what=what, password="another-1")
        assert f"User ada: {done}." in page
    assert 'href="/access/users/delete?name=ada"' in page
    assert "Delete user ada?" in signed_in.get("/access/users/delete?name=ada")
    for said in ({}, {"typed": "eda"}):
        assert "nothing was deleted" in signed_in.post("/access/users/delete?name=ada", 400, **said)
    signed_in.post("/access/users/change", 400, name="ada", what="delete")
    assert '<th scope="row">ada</th>' in signed_in.get("/access")
    page = signed_in.post("/access/users/delete?name=ada", typed="ada")
    assert '<th scope="row">ada</th>' not in page
    assert "choose at least one" in signed_in.post("/access/policies", 400, **policy)


def test_a_seat_ends_by_itself_and_live_parts_with_it(guarded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("sprocketmq.dashboard.console.time.monotonic", lambda: now[0])
    guarded.console._seats["known"] = Seat("root", guarded.console.open_view, used=0.0)
    now[0] = 8 * 3600.0
    assert guarded.console.is_taken("known"), "a look from outside does not use it"
    now[0] += 1.0
    assert not guarded.console.is_taken("known")
    assert guarded.console.seat("known") is None
    del guarded.console._seats["known"]


def test_a_user_without_a_right_over_the_cluster_gets_in(signed_in: Site) -> None:
    """Keys that a broker knows are enough; what they may do is asked page by page."""
    signed_in.post("/access/users", name="eve", password="s3cret-word", type="Normal")
    signed_in.client.cookies.clear()
    signed_in.post("/sign-in", access_key="eve", secret_key="s3cret-word", next="/pipeline")
    assert "eve" in signed_in.get("/topics")
    signed_in.post("/sign-out")
    signed_in.post("/sign-in", 403, access_key="eve", secret_key="another-word", next="/")


def test_what_the_console_keeps_is_for_those_who_look_after_the_cluster(tmp_path: Path) -> None:
    """No broker guards records, runs and files of this machine: a user sees their own, and reads no store."""
    report = tmp_path / "made"
    report.mkdir()
    (report / "index.html").write_text("keys of every topic")
    with EmbeddedCluster(conf=CONF) as cluster:
        client, console = site_of(cluster, host="0.0.0.0", write=True, stores=(tmp_path,), runs=tmp_path)
        with client, pytest.MonkeyPatch.context() as patch:
            patch.setenv(ENVIRONMENT, str(tmp_path))
            with recorded("report", str(report), "127.0.0.1:9876"):
                pass
            site = Site(client, console, cluster)
            site.post("/sign-in", access_key="root", secret_key="r00t-secret", next="/")
            site.post("/access/users", name="eve", password="s3cret-word", type="Normal")
            link = site.get("/pipeline").split('href="/pipeline/reports/')[1].split('"')[0]
            job = Job("archive", "archive of root", target="elsewhere", account="root")
            console.jobs._jobs[job.name] = job
            job.end("done")
            paths = (f"/pipeline/reports/{link}", f"/jobs/{job.name}")
            assert [client.get(path).status_code for path in paths] == [200, 200]
            assert str(tmp_path) in site.get("/store")
            client.cookies.clear()
            site.post("/sign-in", access_key="eve", secret_key="s3cret-word", next="/pipeline")
            assert [client.get(path).status_code for path in (*paths, f"/live{paths[1]}")] == [404, 404, 404]
            assert "There is no such job" in site.post(f"{paths[1]}/cancel", 404), "nor does she end it"
            for path in ("/pipeline", "/store"):
                assert not re.search("archive of root|/pipeline/reports/|Verify", site.get(path))
            assert "user create" not in site.get("/access"), "what others did"
            assert "sign in" in site.get("/access"), "what she did"
            fields = {"kind": "archive", "name": "x", "source": str(tmp_path), "topics": "t"}
            assert "Source: choose one of the listed stores" in site.post("/pipeline", 400, **fields)
            assert "only users who may list" in site.post("/store/0/verify", 403)


def test_a_cluster_without_access_control_says_so(site: Site) -> None:
    shown = site.get("/access")
    assert "no access control" in shown
    assert "authenticationEnabled" in shown, "what switches it on"


@pytest.mark.parametrize("path", ["https://evil.example", "//evil.example", "/\\evil.example", "", "/a\r\nX: y"])
def test_signing_in_leads_nowhere_else(path: str) -> None:
    assert _inside(path) == "/"
    assert _inside("/topics") == "/topics"
