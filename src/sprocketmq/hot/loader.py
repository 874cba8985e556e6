"""Chooses between the compiled and the interpreted form of the hot modules.

Both are installed side by side, and Python prefers the extension module. With SPROCKETMQ_PURE=1 a finder
in front of the others loads the `.py` file instead.

Compiled modules call each other without looking: they fit together only when all are compiled. In a source tree,
where a build can stop halfway or single files are deleted, one that is missing sends all to the interpreted form.

Paths are texts here: whoever imports the package pays for what this module imports, and pathlib is the dearest of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import util
from importlib.machinery import ModuleSpec
from types import ModuleType

_PACKAGE_ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))

#: The extension that setup.py adds: what Cython's own code of all hot modules has in common.
_SHARED = os.path.join("hot", "_cyutility")


class _SourceFinder:  # no base class: importlib.abc would cost every start 30 ms
    """Finds our modules by their source only; packages and foreign modules are left to the others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, *rest = fullname.split(".")
        if package != "sprocketmq" or not rest:
            return None
        source = os.path.join(_PACKAGE_ROOT, *rest) + ".py"
        if not os.path.isfile(source):
            return None
        return util.spec_from_file_location(fullname, source)


def install_if_asked() -> None:
    if os.environ.get("SPROCKETMQ_PURE") == "1":
        sys.meta_path.insert(0, _SourceFinder())
    elif os.path.isfile(os.path.join(_PACKAGE_ROOT, "..", "..", "pyproject.toml")) and (
        misfit := find_misfit(_PACKAGE_ROOT)
    ):
        advice = "all hot modules run interpreted until `python setup.py build_ext --inplace` has been run"
        print(f"warning: sprocketmq: {misfit}; {advice}", file=sys.stderr)
        sys.meta_path.insert(0, _SourceFinder())


def find_misfit(root: str) -> str | None:
    """What keeps the compiled modules under `root` from fitting together; None when nothing does."""
    built: set[str] = set()
    declared: list[str] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        built.update(os.path.join(folder, name.partition(".")[0]) for name in names if name.endswith(".so"))
        declared += [os.path.join(folder, name[:-4]) for name in names if name.endswith(".pxd")]
    if not built:
        return None
    needed = (module for module in declared if module not in built and _is_hot(f"{module}.py"))
    missing = next(needed, None) if os.path.join(root, _SHARED) in built else _SHARED
    return None if missing is None else f"{os.path.basename(missing)} is not compiled and others are"


def _is_hot(source: str) -> bool:
    """Whether setup.py makes an extension of it; other declarations are compiled into the modules which use them."""
    with open(source, "rb") as lines:
        return lines.readline().startswith(b"# cython:")


def form() -> str:
    """`compiled` or `interpreted`: the form in which the record codec runs in this process."""
    spec = util.find_spec("sprocketmq.protocol.record.record")
    return "interpreted" if spec is None or (spec.origin or "").endswith(".py") else "compiled"
