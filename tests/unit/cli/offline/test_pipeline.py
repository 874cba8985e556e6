"""`sprocket pipeline` where Spark is not installed."""

from __future__ import annotations

import importlib.util
from typing import Any

import pytest
from click.testing import CliRunner

from sprocketmq.cli.main import main
from sprocketmq.errors import ConfigError


@pytest.mark.parametrize("missing", ["pyspark", "py4j", "pyarrow"])
def test_one_line_that_names_what_to_install(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def without(name: str, *more: Any) -> Any:
        return None if name == missing else found(name, *more)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    result = CliRunner().invoke(main, ["pipeline", "query", "SELECT 1", "--store", "."])
    assert isinstance(result.exception, ConfigError)
    assert "pip install 'sprocketmq[spark]'" in str(result.exception)
