"""Find the tools the real peers need: Java 17 or newer, Maven, Go, OpenSSL.

A tool that is missing raises `ToolMissing`.  Fixtures turn that into a skip with its reason on a developer's machine
and into a failure when CI=true, so that a build server can not pass by testing nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

JAVA_MAJOR = 17


class ToolMissing(Exception):
    """A program or artifact that a real peer needs is not on this machine."""


@contextmanager
def needs_tools() -> Iterator[None]:
    """Skip the test whose peer can not run here; fail it when CI=true."""
    try:
        yield
    except ToolMissing as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{missing} (CI=true: real peers are required)", pytrace=False)
        pytest.skip(str(missing))


@cache
def java() -> Path:
    """The `java` program, JAVA_HOME first."""
    program = _jdk_program("java")
    if program is None:
        raise ToolMissing("Java is neither in JAVA_HOME nor on PATH")
    version = subprocess.run([program, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', version)
    if found is None or int(found[1]) < JAVA_MAJOR:
        raise ToolMissing(f"{program} is not Java {JAVA_MAJOR} or newer: {version.splitlines()[:1]}")
    return program


@cache
def javac() -> Path | None:
    """The compiler beside `java()`; None on a machine that has a JRE only."""
    beside = java().resolve().with_name("javac")
    return beside if beside.exists() else _jdk_program("javac")


@cache
def maven() -> Path:
    return _on_path("mvn", "Maven")


@cache
def go() -> Path:
    return _on_path("go", "Go")


@cache
def openssl() -> Path:
    return _on_path("openssl", "OpenSSL")


def _jdk_program(name: str) -> Path | None:
    home = os.environ.get("JAVA_HOME")
    if home and (program := Path(home, "bin", name)).exists():
        return program
    found = shutil.which(name)
    return Path(found) if found else None


def _on_path(name: str, title: str) -> Path:
    found = shutil.which(name)
    if found is None:
        raise ToolMissing(f"{title} ({name}) is not on PATH")
    return Path(found)
