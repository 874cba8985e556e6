"""Chooses between the compiled and the interpreted form of the hot modules.

Both are installed side by side, and Python prefers the extension module. With SPROCKETMQ_PURE=1 a finder
in front of the others loads the `.py` file instead.

Compiled modules call each other without looking: they fit together only when all are compiled. In a source tree,
where a build can stop halfway or single files are deleted, one that is missing sends all to the interpreted form.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_PACKAGE_ROOT = Path(__file__).resolve().parents[1]

#: The extension that setup.py adds: what Cython's own code of all hot modules has in common.
_SHARED = Path("hot/_cyutility")


class _SourceFinder:  # no base class: importlib.abc would cost every start 30 ms
    """Finds our modules by their source only; packages and foreign modules are left to the others."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, *rest = fullname.split(".")
        if package != "sprocketmq" or not rest:
            return None
        source = _PACKAGE_ROOT.joinpath(*rest).with_suffix(".py")
        if not source.is_file():
            return None
        return importlib.util.spec_from_file_location(fullname, source)


def install_if_asked() -> None:
    if os.environ.get("SPROCKETMQ_PURE") == "1":
        sys.meta_path.insert(0, _SourceFinder())
    elif (_PACKAGE_ROOT.parents[1] / "pyproject.toml").is_file() and (misfit := find_misfit(_PACKAGE_ROOT)):
        advice = "all hot modules run interpreted until `python setup.py build_ext --inplace` has been run"
        print(f"warning: sprocketmq: {misfit}; {advice}", file=sys.stderr)
        sys.meta_path.insert(0, _SourceFinder())


def find_misfit(root: Path) -> str | None:
    """What keeps the compiled modules under `root` from fitting together; None when nothing does."""
    built: set[Path] = set()
    declared: list[Path] = []
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != "__pycache__"]
        built.update(Path(folder, name.partition(".")[0]) for name in names if name.endswith(".so"))
        declared += [Path(folder, name[:-4]) for name in names if name.endswith(".pxd")]
    if not built:
        return None
    if root / _SHARED not in built:
        return f"{_SHARED.name} is not compiled and others are"
    missing = (module for module in declared if module not in built and _is_hot(module.with_suffix(".py")))
    return next((f"{module.name} is not compiled and others are" for module in missing), None)


def _is_hot(source: Path) -> bool:
    """Whether setup.py makes an extension of it; other declarations are compiled into the modules which use them."""
    with source.open("rb") as lines:
        return lines.readline().startswith(b"# cython:")


def form() -> str:
    """`compiled` or `interpreted`: the form in which the record codec runs in this process."""
    spec = importlib.util.find_spec("sprocketmq.protocol.record.record")
    return "interpreted" if spec is None or (spec.origin or "").endswith(".py") else "compiled"
