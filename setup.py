"""Compiles the hot modules named in pyproject.toml when that is possible, and installs them as Python when not.

SPROCKETMQ_PURE=1 skips the compiler on purpose.
"""

from __future__ import annotations

import os
import sys
import tomllib
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HERE = Path(__file__).resolve().parent


def say(line: str) -> None:
    print(f"warning: sprocketmq: {line}", file=sys.stderr)


def hot_modules() -> list[str]:
    settings = tomllib.loads((HERE / "pyproject.toml").read_text())
    modules: list[str] = settings["tool"]["sprocketmq"]["hot-modules"]
    return modules


def extensions() -> list[Extension]:
    if os.environ.get("SPROCKETMQ_PURE") == "1":
        say("SPROCKETMQ_PURE=1, the hot modules are installed as plain Python")
        return []
    try:
        from Cython.Build import cythonize  # type: ignore[import-untyped,unused-ignore]
    except ImportError:
        say("no Cython, the hot modules are installed as plain Python")
        return []
    sources = [
        Extension(name, [str(Path("src", *name.split(".")).with_suffix(".py"))], extra_compile_args=["-O2", "-g0"])
        for name in hot_modules()
    ]
    directives = {"language_level": 3, "boundscheck": False, "wraparound": False, "initializedcheck": False}
    threads = (os.cpu_count() or 0) if sys.platform == "linux" else 0  # elsewhere each would run this file again
    built: list[Extension] = cythonize(
        sources, compiler_directives=directives, include_path=["src"], build_dir="build/cython", nthreads=threads
    )
    return built


class BuildWhenPossible(build_ext):
    """A missing compiler or header costs speed, not the installation."""

    def run(self) -> None:
        if not self.extensions:
            return
        self.parallel = os.cpu_count()
        try:
            super().run()
            say(f"compiled {len(self.extensions)} hot modules")
        except Exception as error:  # noqa: BLE001 - whatever stops the compiler, the Python form works
            self.give_up(error)

    def give_up(self, error: Exception) -> None:
        say(f"could not compile ({type(error).__name__}); the hot modules are installed as plain Python")
        self.extensions = []

    def get_outputs(self) -> list[str]:
        return [path for path in super().get_outputs() if Path(path).exists()]


options: dict[str, Any] = {"ext_modules": extensions(), "cmdclass": {"build_ext": BuildWhenPossible}}
setup(**options)
