"""`unit` has the rooms of `src`: who looks for the tests of a module finds them in the folder of the same name."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sprocketmq.hot import loader

ROOT = Path(__file__).parents[2]
SOURCES, TESTS = ROOT / "src" / "sprocketmq", ROOT / "tests" / "unit"


def rooms(root: Path, pattern: str) -> set[str]:
    return {str(path.parent.relative_to(root)) for path in root.rglob(pattern) if path.name != "__init__.py"}


def test_every_room_has_tests_of_its_own() -> None:
    assert rooms(SOURCES, "*.py") - rooms(TESTS, "test_*.py") == set()


def test_tests_are_in_rooms_that_exist() -> None:
    assert rooms(TESTS, "test_*.py") - rooms(SOURCES, "*.py") == set()


@pytest.mark.parametrize("root", [SOURCES, TESTS.parent, ROOT / "bench"], ids=lambda root: root.name)
def test_no_room_is_a_heap(root: Path) -> None:
    sizes = {room: len(list((root / room).glob("*.py"))) for room in rooms(root, "*.py")}
    assert {room: size for room, size in sizes.items() if size > 25} == {}


def test_rooms_with_hot_modules_are_tested_both_ways() -> None:
    """The others run the same code twice. Of one form or the other is what `hot` itself is about."""
    hot = {path.relative_to(SOURCES).parts[0] for path in SOURCES.rglob("*.py") if loader._is_hot(str(path))}
    line = next(line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("INTERPRETED"))
    listed = re.search(r"addprefix tests/unit/,([a-z ]+)\)", line)
    assert listed is not None
    assert set(listed[1].split()) == hot | {"hot"}
