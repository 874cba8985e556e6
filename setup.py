"""Compiles the hot modules when that is possible, and installs them as Python when not.

A module is hot when its first line speaks to Cython (`# cython: ...`), wherever it lies.
SPROCKETMQ_PURE=1 skips the compiler on purpose.

SPROCKETMQ_HOME_PAGE is where the project lives, as a release says it: the links of an index page lead there.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

#: What Cython would otherwise repeat in every module: memory views, its function type, its exceptions.
SHARED = "sprocketmq.hot._cyutility"
#: No code to pickle by default: only what users send to other processes has it, and says so in its first line.
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "auto_pickle": False,
    "emit_code_comments": False,
}
#: Nobody reads warnings about translated code, and to look for them takes a tenth of the compiler's time. The passes in
#: the last line take a fifth of it, and save a hundredth of the instructions of a pull, of a send none. A compiler that
#: does not know them says so and goes on.
COMPILER = [
    *("-O2", "-g0", "-Wno-all"),
    *("-fno-gcse", "-fno-expensive-optimizations", "-fno-schedule-insns2"),
]
HERE = Path(__file__).resolve().parent


def say(line: str) -> None:
    print(f"warning: sprocketmq: {line}", file=sys.stderr)


def hot_sources() -> list[Path]:
    return sorted(path.relative_to(HERE) for path in (HERE / "src").rglob("*.py") if is_hot(path))


def is_hot(source: Path) -> bool:
    with source.open(encoding="utf-8") as lines:
        return lines.readline().startswith("# cython:")


def module_name(source: Path) -> str:
    return ".".join(source.with_suffix("").parts[1:])


def extension(name: str, source: Path) -> Extension:
    return Extension(name, [str(source)], extra_compile_args=COMPILER)


def extensions() -> list[Extension]:
    """What there is to compile. It is translated when it is built: installers run this file to ask only, too."""
    if os.environ.get("SPROCKETMQ_PURE") == "1":
        say("SPROCKETMQ_PURE=1, the hot modules are installed as plain Python")
        return []
    if find_spec("Cython") is None:
        say("no Cython, the hot modules are installed as plain Python")
        return []
    sources = [extension(module_name(source), source) for source in hot_sources()]
    return [extension(SHARED, Path("src/sprocketmq/hot/_cyutility.c")), *sources]


def translated(modules: list[Extension]) -> list[Extension]:
    """The same with their C files, the longest first: no long one alone at the end."""
    from Cython.Build import cythonize  # type: ignore[import-untyped,unused-ignore]

    threads = (os.cpu_count() or 0) if sys.platform == "linux" else 0  # elsewhere each would run this file again
    gc.set_threshold(200_000)  # syntax trees have much to search and little garbage: this saves a seventh of the time
    built: list[Extension] = cythonize(
        modules,
        compiler_directives=DIRECTIVES,
        include_path=["src"],
        build_dir="build/cython",
        nthreads=threads,
        shared_utility_qualified_name=SHARED,
    )
    sources = {made.name: made.sources for made in built}
    for module in modules:
        module.sources = sources[module.name]
    return sorted(modules, key=size_of_source, reverse=True)


def size_of_source(made: Extension) -> int:
    return sum(Path(source).stat().st_size for source in made.sources)


class BuildWhenPossible(build_ext):
    """A missing compiler or header costs speed, not the installation."""

    def run(self) -> None:
        if not self.extensions:
            return
        self.parallel = os.cpu_count()
        try:
            self.extensions = translated(self.extensions)
            super().run()
            say(f"compiled {len(self.extensions)} hot modules")
        except Exception as error:  # noqa: BLE001 - whatever stops the compiler, the Python form works
            self.give_up(error)

    def give_up(self, error: Exception) -> None:
        say(f"could not compile ({type(error).__name__}); the hot modules are installed as plain Python")
        self.extensions = []

    def get_outputs(self) -> list[str]:
        return [path for path in super().get_outputs() if Path(path).exists()]


#: A link or a picture of Markdown whose address is no URL: it leads nowhere from an index page.
RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


def index_page(readme: str, home: str) -> str:
    """The README with links that lead to `home`; without one their words alone, and no pictures."""

    def absolute(link: re.Match[str]) -> str:
        mark, words, path = link.groups()
        if not home:
            return "" if mark else words
        return f"{mark}[{words}]({home}/{'raw' if mark else 'blob'}/main/{path})"

    return RELATIVE.sub(absolute, readme)


def project_urls(home: str) -> dict[str, str]:
    if not home:
        return {}
    pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    return {"Source": home} | {name: f"{home}/blob/main/{path}" for name, path in pages.items()}


def home_page() -> str:
    home = os.environ.get("SPROCKETMQ_HOME_PAGE", "").rstrip("/")
    if home and not home.startswith("https://"):
        raise SystemExit(f"SPROCKETMQ_HOME_PAGE is an https:// address, not {home!r}")
    return home


HOME = home_page()
options: dict[str, Any] = {
    "ext_modules": extensions(),
    "cmdclass": {"build_ext": BuildWhenPossible},
    "long_description": index_page((HERE / "README.md").read_text(encoding="utf-8"), HOME),
    "long_description_content_type": "text/markdown",
    "project_urls": project_urls(HOME),
}
setup(**options)
