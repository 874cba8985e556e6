from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from sprocketmq.cli.name_check import NotThere, known_group
from sprocketmq.client.errors import Refused
from sprocketmq.codes import ResponseCode


def admin(answer: list[str] | Refused) -> Any:
    async def names(*, everything: bool) -> list[str]:
        assert everything
        if isinstance(answer, Refused):
            raise answer
        return answer

    return SimpleNamespace(groups=SimpleNamespace(names=names))


async def test_a_group_that_is_there_and_one_that_is_not() -> None:
    await known_group(admin(["billing"]), "billing")
    with pytest.raises(NotThere, match=r"no group biling: did you mean billing\?"):
        await known_group(admin(["billing"]), "biling")


async def test_who_may_not_see_all_groups() -> None:
    await known_group(admin(Refused(ResponseCode.NO_PERMISSION, "no")), "billing")
    with pytest.raises(Refused):
        await known_group(admin(Refused(ResponseCode.SYSTEM_ERROR, "no")), "billing")
