"""SPROCKETMQ_PURE=1 forces the interpreted form."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
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


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Two modules with sources and declarations, both compiled, and declarations alone."""
    (tmp_path / "protocol").mkdir()
    for name in ("frame.py", "frame.pxd", "record.py", "record.pxd", "octets.py", "octets.pxd"):
        (tmp_path / "protocol" / name).touch()
    for name in ("frame", "record"):
        (tmp_path / "protocol" / f"{name}.cpython-311-x86_64-linux-gnu.so").touch()
    return tmp_path


def test_a_whole_build_fits(tree: Path) -> None:
    assert loader.find_misfit(tree) is None


def test_sources_alone_fit(tree: Path) -> None:
    for path in tree.rglob("*.so"):
        path.unlink()
    assert loader.find_misfit(tree) is None


def test_half_a_build_does_not_fit(tree: Path) -> None:
    next(tree.glob("*/record*.so")).unlink()
    assert loader.find_misfit(tree) == "record is not compiled and others are"


def test_every_declaration_belongs_to_a_hot_module() -> None:
    hot = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["sprocketmq"]["hot-modules"]
    names = {path.stem for path in (ROOT / "src/sprocketmq").rglob("*.pxd")}
    assert names - {module.rpartition(".")[2] for module in hot} == loader._HEADERS_ONLY
