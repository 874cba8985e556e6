"""The paths that the documents name are there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sprocketmq"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])

#: `broker/send/handler.py`, `store/view/`, `tests/interop`: two names with a slash, in code quotes.
_PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_]+(?:\.[a-z]+)?)?)`")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
#: What a store or a checkout of the user's holds, not this repository.
_ELSEWHERE = ("commitlog/", "consumequeue", "config/", "index/", "timerlog", "quarantine", "conf/", "demo-output")


def paths(page: Path) -> list[str]:
    return [path for path in _PATH.findall(page.read_text()) if not path.startswith(_ELSEWHERE)]


@pytest.mark.parametrize("page", [page for page in PAGES if paths(page)], ids=lambda page: page.name)
def test_paths_exist(page: Path) -> None:
    assert [
        path for path in paths(page) if not any((root / path).exists() for root in (PACKAGE, ROOT, PACKAGE.parent))
    ] == []


@pytest.mark.parametrize("page", [page for page in PAGES if _LINK.search(page.read_text())], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    assert [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()] == []


def test_the_architecture_names_many() -> None:
    """A pattern that finds nothing would find nothing wrong."""
    assert len(paths(ROOT / "docs" / "ARCHITECTURE.md")) > 30
    assert len(paths(ROOT / "docs" / "GLOSSARY.md")) > 30


#: `auth.authorization.request_table`: a module as comments name it, perhaps with a function of it.
_PACKAGES = "|".join(sorted(each.name for each in PACKAGE.iterdir() if each.is_dir()))
_MODULE = re.compile(rf"`((?:{_PACKAGES})(?:\.[a-z_]+){{1,3}})`")
_NO_MODULE = re.compile(r"broker\.conf|spark\.sql.*")


def is_there(module: str) -> bool:
    """Whether all of it but perhaps the last name, a function's, leads to a module."""
    names = module.split(".")
    return any(PACKAGE.joinpath(*names[:count]).with_suffix(".py").exists() for count in (len(names), len(names) - 1))


def test_comments_name_modules_as_they_are_called() -> None:
    named = {
        (path.relative_to(ROOT).as_posix(), module)
        for path in [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pxd")]
        for module in _MODULE.findall(path.read_text())
        if not _NO_MODULE.fullmatch(module)
    }
    assert len(named) > 5, "a pattern that finds nothing would find nothing wrong"
    assert {(path, module) for path, module in named if not is_there(module)} == set()


#: `    consume_stats    how far groups have come`: a row of the table in the head of a package.
_ROW = re.compile(r"^(?: {4})?([a-z_0-9]+)/?  +\S", re.MULTILINE)
#: Heads whose table is of something else than modules.
_OTHER_TABLES = {"controller/engines"}


def test_the_head_of_a_package_names_what_is_in_it() -> None:
    """Modules were renamed before, and the table of their package still had the old names."""
    tables = {
        package.parent: _ROW.findall(ast.get_docstring(ast.parse(package.read_text())) or "")
        for package in PACKAGE.rglob("__init__.py")
        if package.parent.relative_to(PACKAGE).as_posix() not in _OTHER_TABLES
    }
    assert sum(map(len, tables.values())) > 60, "a pattern that finds nothing would find nothing wrong"
    names = {(room, name) for room, found in tables.items() for name in found}
    assert {
        (room, name) for room, name in names if not ((room / name).is_dir() or (room / f"{name}.py").exists())
    } == set()


@pytest.mark.parametrize("room", ["broker", "client", "dashboard", "store"])
def test_the_head_of_a_large_package_names_every_room(room: str) -> None:
    named = _ROW.findall(ast.get_docstring(ast.parse((PACKAGE / room / "__init__.py").read_text())) or "")
    assert {path.parent.name for path in (PACKAGE / room).glob("*/__init__.py")} - set(named) == set()
