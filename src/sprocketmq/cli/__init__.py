"""The `sprocket` command, an optional part: without its packages it says in one line what brings them."""

from __future__ import annotations

import sys

from sprocketmq import extras
from sprocketmq.errors import MissingExtra


def run() -> None:
    try:
        for package in ("click", "rich"):
            extras.need("the command sprocket", package, "cli")
    except MissingExtra as missing:
        sys.exit(f"sprocket: {missing}")
    from sprocketmq.cli import main

    main.run()
