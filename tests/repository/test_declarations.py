"""What a `.pxd` spells a second time is what the `.py` beside it says: constants, and the words that C inlines.

Compiled modules take the constants of the `.pxd` and interpreted ones those of the `.py`, so that a wrong one would
show in one form alone, and without its name.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src"
HEADERS = sorted((SOURCES / "sprocketmq").rglob("*.pxd"))

_ENUM = re.compile(r"^cp?def enum\b.*:\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_INLINE = re.compile(r"^cdef inline [\w* ]+?(\w+)\(([^)]*)\)", re.MULTILINE)

_TYPES = {"Octets", "Pointer"}
HOT = sorted(path.relative_to(SOURCES) for path in SOURCES.rglob("*.py") if path.read_text().startswith("# cython:"))

#: Imports the modules named on the command line and prints the whole numbers that each has.
_NUMBERS = """
import importlib, json, sys
modules = {name: vars(importlib.import_module(name)) for name in sys.argv[1:]}
whole = {name: {k: int(v) for k, v in of.items() if isinstance(v, int)} for name, of in modules.items()}
print(json.dumps(whole))
"""


def module_name(header: Path) -> str:
    return ".".join(header.relative_to(SOURCES).with_suffix("").parts)


def constants(header: Path) -> dict[str, int]:
    lines = [line.split("#")[0] for block in _ENUM.findall(header.read_text()) for line in block.splitlines()]
    return {name.strip(): int(value, 0) for name, value in (line.split("=") for line in lines if line.strip())}


def inlined(header: Path) -> dict[str, list[str]]:
    """The functions that C inlines, with the names of their parameters."""
    found = _INLINE.findall(header.read_text())
    return {name: [p.split()[-1] for p in parameters.split(",") if p.strip()] for name, parameters in found}


def interpreted_alone(source: Path) -> set[str]:
    """What is assigned or imported under a module's `if not cython.compiled:`, less the names of Python's types."""
    branches = [node for node in ast.parse(source.read_text()).body if isinstance(node, ast.If)]
    taken = [line for branch in branches if ast.unparse(branch.test) == "not cython.compiled" for line in branch.body]
    assigned = [target for line in taken if isinstance(line, ast.Assign) for target in line.targets]
    imported = {alias.name for line in taken if isinstance(line, ast.ImportFrom) for alias in line.names}
    return imported - _TYPES | {
        name.id for target in assigned for name in ast.walk(target) if isinstance(name, ast.Name)
    }


@pytest.fixture(scope="module")
def interpreted() -> dict[str, dict[str, int]]:
    """The numbers of every module with a `.pxd`, as its `.py` says them."""
    command = [sys.executable, "-c", _NUMBERS, *(module_name(header) for header in HEADERS)]
    environment = {**os.environ, "SPROCKETMQ_PURE": "1"}
    numbers: dict[str, dict[str, int]] = json.loads(subprocess.check_output(command, env=environment))
    return numbers


@pytest.mark.parametrize("header", [h for h in HEADERS if constants(h)], ids=module_name)
def test_constants_are_the_same(header: Path, interpreted: dict[str, dict[str, int]]) -> None:
    said = interpreted[module_name(header)]
    declared = constants(header)
    assert {name: said.get(name) for name in declared} == declared


@pytest.mark.parametrize("header", HEADERS, ids=module_name)
def test_what_python_alone_is_given_is_declared_for_c(header: Path) -> None:
    declared = set(re.findall(r"\w+", header.read_text()))
    assert interpreted_alone(header.with_suffix(".py")) - declared == set()


@pytest.mark.parametrize("header", [h for h in HEADERS if inlined(h)], ids=module_name)
def test_inlined_functions_take_the_same(header: Path) -> None:
    functions = [n for n in ast.parse(header.with_suffix(".py").read_text()).body if isinstance(n, ast.FunctionDef)]
    said = {function.name: [argument.arg for argument in function.args.args] for function in functions}
    declared = inlined(header)
    assert {name: said.get(name) for name in declared} == declared


def test_every_declaration_is_read() -> None:
    """A new way to spell a constant or an inlined function must not pass unread."""
    lines = "".join(header.read_text() for header in HEADERS)
    assert sum(len(constants(header)) for header in HEADERS) == len(re.findall(r"^ +[A-Z_][A-Z0-9_]+ =", lines, re.M))
    assert sum(len(inlined(header)) for header in HEADERS) == lines.count("cdef inline ")
    assert re.findall(r"^DEF .*|^cdef [\w ]+ = .*", lines, re.M) == []


@pytest.mark.parametrize("header", HEADERS, ids=module_name)
def test_a_header_names_the_module_that_it_is_for(header: Path) -> None:
    """Modules have moved before, and the first lines of their headers had not."""
    named = re.findall(r"\b\w+\.py\b", header.read_text().split("\n", 1)[0])
    assert set(named) <= {header.with_suffix(".py").name}


@pytest.mark.parametrize("source", HOT, ids=str)
def test_a_hot_module_says_what_rests_on_the_gil(source: Path) -> None:
    """Or that nothing does; in the module, or at the head of its declarations."""
    header = (SOURCES / source).with_suffix(".pxd")
    assert "GIL" in (SOURCES / source).read_text() + (header.read_text() if header.exists() else "")
