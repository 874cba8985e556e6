"""`unit` has the rooms of `src`: who looks for the tests of a module finds them in the folder of the same name."""

from __future__ import annotations

from pathlib import Path

import pytest

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
