"""A console over a cluster of our own, and a visitor who reads its pages as a browser does without scripts."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from httpx import Response
from starlette.testclient import TestClient

from sprocketmq.client.options import ClientOptions
from sprocketmq.dashboard.app import make_app
from sprocketmq.dashboard.config import ConsoleConfig
from sprocketmq.dashboard.console import Console
from sprocketmq.testing import EmbeddedCluster

HOME = "http://127.0.0.1:8080"


class Site:
    """Pages by path; `post` fills in the token that the last page had."""

    def __init__(self, client: TestClient, console: Console, cluster: EmbeddedCluster) -> None:
        self.client, self.console, self.cluster = client, console, cluster

    def get(self, path: str, status: int = 200, /, **parameters: str) -> str:
        """As if the last look had been a while ago."""
        self.console.open_view.snapshots.forget()
        answer = self.client.get(path, params=parameters or None)
        assert answer.status_code == status, answer.text
        assert_well_formed(answer)
        return str(answer.text)

    def post(self, path: str, status: int = 200, /, **fields: Any) -> str:
        """With the token of a page of ours; where it leads is followed."""
        answer = self.client.post(path, data={"csrf": self.token(), **fields})
        assert answer.status_code == status, answer.text
        return str(answer.text)

    def token(self) -> str:
        found = re.search(r'name="csrf" value="([^"]+)"', self.client.get("/sign-in").text)
        assert found is not None
        return found[1]

    @property
    def changes(self) -> list[tuple[str, str]]:
        return [(change.action, change.target) for change in self.console.audit.changes]


def site_of(cluster: EmbeddedCluster, **config: Any) -> tuple[TestClient, Console]:
    """Neither is started; `with` starts both."""
    console = Console(ConsoleConfig(ClientOptions.of(cluster.nameserver), **config))
    return TestClient(make_app(console), base_url=HOME), console


class _Elements(HTMLParser):
    """Every element that is opened is closed, in order."""

    VOID = frozenset({"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), (tag, attrs)
        assert "style" not in names, "the policy allows no style of an element"
        assert not [name for name in names if name.startswith("on")], (tag, attrs)
        self.ids += [value for name, value in attrs if name == "id" and value]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open, tag
        assert self.open.pop() == tag, (tag, self.open)


def assert_well_formed(answer: Response) -> None:
    if not answer.headers["content-type"].startswith("text/html"):
        return
    elements = _Elements()
    elements.feed(answer.text)
    assert elements.open == []
    assert len(elements.ids) == len(set(elements.ids)), "an id is there once"
