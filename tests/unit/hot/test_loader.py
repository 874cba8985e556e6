"""SPROCKETMQ_PURE=1 forces the interpreted form."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sprocketmq.hot import loader

ROOT = Path(__file__).parents[3]


def test_pure_is_interpreted() -> None:
    environment = {**os.environ, "SPROCKETMQ_PURE": "1"}
    run = subprocess.run(
        [sys.executable, "-m", "sprocketmq", "version"], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.rstrip().endswith("(interpreted)")


HOT = "# cython: annotation_typing=False\n"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two modules with sources and declarations, both compiled, one deep inside, and declarations alone."""
    deep = tmp_path / "store" / "view"
    (tmp_path / "protocol").mkdir()
    deep.mkdir(parents=True)
    (tmp_path / "hot").mkdir()
    (tmp_path / "hot" / "_cyutility.cpython-311-x86_64-linux-gnu.so").touch()
    for module in (tmp_path / "protocol" / "record", deep / "skim"):
        module.with_suffix(".py").write_text(HOT)
        module.with_suffix(".pxd").touch()
        module.with_suffix(".cpython-311-x86_64-linux-gnu.so").touch()
    for name in ("octets.py", "octets.pxd"):
        (tmp_path / "protocol" / name).touch()
    return tmp_path


def test_a_whole_build_fits(tree: Path) -> None:
    assert loader.find_misfit(str(tree)) is None


def test_sources_alone_fit(tree: Path) -> None:
    for path in tree.rglob("*.so"):
        path.unlink()
    assert loader.find_misfit(str(tree)) is None


@pytest.mark.parametrize("name", ["record", "skim", "_cyutility"])
def test_half_a_build_does_not_fit(tree: Path, name: str) -> None:
    next(tree.rglob(f"{name}*.so")).unlink()
    assert loader.find_misfit(str(tree)) == f"{name} is not compiled and others are"


def test_declarations_without_an_extension_need_none() -> None:
    """What is not inlined lives in an extension: a source that declares such things needs the first line."""
    for header in (ROOT / "src/sprocketmq").rglob("*.pxd"):
        if not loader._is_hot(str(header.with_suffix(".py"))):
            declared = re.findall(r"^cp?def (?!inline|enum|extern).*", header.read_text(), re.MULTILINE)
            assert declared == [], header
