"""A systematic campaign as a program: the options that each has, and how it ends."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

MODES = ("SYNC_FLUSH", "ASYNC_FLUSH")


def options_of(name: str, doc: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m tests.fault.systematic.{name}", description=(doc or "").partition("\n")[0]
    )
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--together", type=int, default=24)
    parser.add_argument("--done", type=Path)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path)
    return parser


def keep(result: dict[str, Any], file: Path | None) -> None:
    """After each step: a run may be ended."""
    if file is not None:
        file.write_text(json.dumps(result, indent=2) + "\n")


def mute() -> None:
    """What is logged is looked at, and not shown."""
    logging.lastResort = None
    logging.getLogger("sprocketmq").addHandler(logging.NullHandler())


def perform(run: Callable[[argparse.Namespace], dict[str, Any]], parser: argparse.ArgumentParser) -> None:
    """Print what came of it as JSON; exit 1 when there are findings."""
    options = parser.parse_args()
    mute()
    result = run(options)
    print(json.dumps(result, indent=2))
    sys.exit(1 if result["findings"] else 0)
