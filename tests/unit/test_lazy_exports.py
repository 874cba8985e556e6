from __future__ import annotations

import sys
from types import ModuleType

import pytest

from sprocketmq.lazy_exports import lazy_exports


def test_a_name_is_imported_once_when_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    package = ModuleType("a_package")
    monkeypatch.setitem(sys.modules, "a_package", package)
    names, find, offered = lazy_exports("a_package", {"string": ("Template", "capwords"), "shlex": ("quote",)})
    assert names == offered() == ["Template", "capwords", "quote"]
    assert not hasattr(package, "quote")
    quote = find("quote")
    assert quote("a b") == "'a b'"
    assert package.quote is quote
    with pytest.raises(AttributeError, match="module 'a_package' has no attribute 'split'"):
        find("split")
