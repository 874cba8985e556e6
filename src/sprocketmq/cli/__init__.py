"""The `sprocket` command, an optional part: without its packages it says in one line what brings them."""

from __future__ import annotations

import os
import sys

from sprocketmq import extras
from sprocketmq.errors import MissingExtra


def run() -> None:
    occupy_standard_streams()
    try:
        for package in ("click", "rich"):
            extras.need("the command sprocket", package, "cli")
    except MissingExtra as missing:
        sys.exit(f"sprocket: {missing}")
    from sprocketmq.cli import main

    main.run()


def occupy_standard_streams() -> None:
    """Where the caller has closed standard input, output or error (`>&-`), nothing stands in its place.

    Else the next file or socket that we open would be it: what is printed would go into a store's file, and uvloop
    ends the process over such a socket.
    """
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: PTH123, SIM115 - pathlib is dear, and it stays open
