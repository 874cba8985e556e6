"""Debian's Chromium without a window, driven by Playwright; and a console as a process, as users start it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright
from tests.e2e.processes import running
from tests.peers.toolchain import ToolMissing

_FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
#: Only a hang takes so long.
_PATIENCE_MS = 60_000
_SERIOUS = ("serious", "critical")
#: The narrowest of phones that are sold, a tablet, and a small desktop.
_SCREENS: tuple[tuple[int, Literal["light", "dark"]], ...] = ((360, "light"), (768, "light"), (1280, "dark"))
_WIDTH = "document.documentElement.scrollWidth"
_LARGE_HEADER = (
    "(side => side && side.offsetWidth == innerWidth"
    " && side.offsetHeight > innerHeight / 4)(document.querySelector('.side'))"
)
#: CSS pixels of A4 between its margins.
_PAPER = {"width": 700, "height": 1010}
#: Cut off by the edge or by a frame that cannot be scrolled on paper, or of use to nobody who cannot click.
_LOST_ON_PAPER = """[...document.querySelectorAll("main td, main th, main pre, main svg, main button, main input")]
    .filter(each => each.checkVisibility())
    .filter(each => each.matches("button, input") || each.scrollWidth > each.clientWidth + 1
        || each.getBoundingClientRect().right > innerWidth + 1)
    .map(each => each.outerHTML.slice(0, 80))"""
_HIDDEN_LINKS = "(nav => nav && nav.scrollWidth > nav.clientWidth)(document.querySelector('.side nav'))"


@contextmanager
def chromium() -> Iterator[Browser]:
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        raise ToolMissing("chromium is not installed (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=list(_FLAGS))
        yield browser
        browser.close()


@contextmanager
def console(nameserver: str, *options: object) -> Iterator[str]:
    """The address of a console that may change things."""
    with running("dashboard", "-n", nameserver, "--port", 0, "--dashboard-write", *options) as process:
        process.ready("dashboard")
        yield f"http://127.0.0.1:{process.ports['dashboard']}"


@dataclass
class Tab:
    """A page of the browser at a console; what goes wrong in it is kept."""

    page: Page
    home: str
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(_PATIENCE_MS)
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))
        self.page.on("console", lambda said: self.faults.append(said.text) if said.type == "error" else None)

    def open(self, path: str) -> Page:
        answer = self.page.goto(self.home + path)
        assert answer is not None
        assert answer.status == 200, (path, self.text())
        return self.page

    def text(self) -> str:
        return self.page.inner_text("main")

    def press(self, name: str) -> None:
        """A button or a link by what it says."""
        self.page.locator(f"main :is(a, button):has-text('{name}')").first.click()

    def fill(self, **fields: str) -> None:
        for name, value in fields.items():
            self.page.fill(f"main [name='{name}']", value)

    def refusals(self) -> list[str]:
        """The status codes of answers that the browser took for faults, one at least; they are none any more."""
        if not self.faults:  # a click is done before its answer has come
            self.page.wait_for_event("console", lambda said: said.type == "error")
        found = [re.search(r"status of (\d+)", fault) for fault in self.faults]
        assert None not in found, self.faults
        self.faults.clear()
        return [each[1] for each in found if each is not None]

    def layout_faults(self, *, axe: bool = True) -> list[str]:
        """What does not fit a phone, a tablet or a desktop, and what axe holds against the page, light and dark."""
        found = []
        for width, scheme in _SCREENS:
            self.page.set_viewport_size({"width": width, "height": 800})
            self.page.emulate_media(color_scheme=scheme)
            found += [f"wider than {width}"] if self.page.evaluate(_WIDTH) > width else []
            found += [f"a header of more than a quarter at {width}"] if self.page.evaluate(_LARGE_HEADER) else []
            found += [f"links out of reach at {width}"] if self.page.evaluate(_HIDDEN_LINKS) else []
            found += [f"{each} at {width}, {scheme}" for each in (self.serious_findings() if axe else ())]
        found += [f"lost on paper: {each}" for each in self._lost_on_paper()]
        return [f"{self.page.url}: {each}" for each in found]

    def _lost_on_paper(self) -> list[str]:
        self.page.set_viewport_size(_PAPER)  # type: ignore[arg-type]
        self.page.emulate_media(media="print")
        found: list[str] = self.page.evaluate(_LOST_ON_PAPER)
        self.page.emulate_media(media="screen")
        return found

    def serious_findings(self) -> list[str]:
        """What axe holds against the page."""
        violations: list[dict[str, Any]] = Axe().run(self.page).response["violations"]
        return [
            f"{each['id']}: {node['html'][:200]}"
            for each in violations
            if each["impact"] in _SERIOUS
            for node in each["nodes"]
        ]


@contextmanager
def tab(browser: Browser, home: str, **context: Any) -> Iterator[Tab]:
    """A visitor of their own; the page must have had no fault."""
    visitor = browser.new_context(**context)
    try:
        opened = Tab(visitor.new_page(), home)
        yield opened
        assert opened.faults == []
    finally:
        visitor.close()
