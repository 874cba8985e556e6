"""A master, its replica and the controller that chose them, as the console draws them in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.browser.chromium import console, tab
from tests.peers.broker_set import NAME, BrokerSet
from tests.peers.controllers import SprocketController
from tests.peers.toolchain import needs_tools

expect.set_options(timeout=60_000)
pytestmark = pytest.mark.interop


def test_who_replicates_from_whom(browser: Browser, tmp_path: Path) -> None:
    controller = SprocketController(tmp_path / "controller")
    with (
        needs_tools(),
        BrokerSet(tmp_path, controller, ["sprocket", "sprocket"]) as brokers,
        console(brokers.nameserver.address) as home, tab(browser, home) as visitor,
    ):  # fmt: skip
        master, replica = (each.address for each in brokers.brokers)
        page = visitor.open("/")
        (drawn,) = page.locator("main .map > li").all()
        expect(drawn.locator("> .node")).to_contain_text(master)
        copy = drawn.locator(".copies .node")
        expect(copy).to_contain_text(replica)
        expect(copy).to_contain_text("up to date")
        expect(copy).to_contain_text("in sync")
        expect(page.locator("main .badge", has_text="leader")).to_contain_text(controller.address)
        assert visitor.layout_faults() == []
        visitor.open(f"/brokers/{NAME}/0")
        replicas = page.locator("main section", has=page.locator("h2", has_text="Replicas"))
        expect(replicas.locator("tbody tr")).to_contain_text("yes")
        assert visitor.layout_faults() == []
        visitor.open("/")
        brokers.brokers[0].kill()
        expect(page.locator("main .map > li > .node")).to_contain_text(replica)
        expect(page.locator("main .map .copies .node")).to_contain_text(f"{master}offline")
        told = page.locator("main :is(.health, .faults li)", has_text=f"the replica of {NAME} at {master} is offline")
        expect(told.first).to_be_visible()
        assert visitor.layout_faults() == []
