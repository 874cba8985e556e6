from __future__ import annotations

from typing import Any

import pytest

from sprocketmq.auth.authorization.resources import parse_resource

from ..golden import GOLDEN


@pytest.mark.parametrize("row", GOLDEN["resources"], ids=lambda row: repr(row["text"]))
def test_texts_are_read_as_rocketmq_reads_them(row: dict[str, Any]) -> None:
    resource = parse_resource(row["text"])
    if row["type"] is None:
        assert resource is None
        return
    assert resource is not None
    assert (resource.type.word, resource.name, resource.pattern.name) == (row["type"], row["name"], row["pattern"])
    assert str(resource) == row["shown"]
