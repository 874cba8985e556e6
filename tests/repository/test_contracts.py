"""Every package has its order among its rooms, which import-linter holds (`make lint`)."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sprocketmq"
#: One module upon another: there is nothing to put in order.
_SMALL = 2


def test_every_package_has_a_contract_for_its_rooms() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    ordered = {name for contract in contracts if contract.get("exhaustive") for name in contract["containers"]}
    packages = {
        f"sprocketmq.{folder.name}"
        for folder in PACKAGE.iterdir()
        if len([path for path in folder.rglob("*.py") if path.name != "__init__.py"]) > _SMALL
    }
    assert len(packages) > 10, "a pattern that finds nothing would find nothing wrong"
    assert packages - ordered == set()
