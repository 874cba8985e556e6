from __future__ import annotations

import pytest
from tests.unit.broker.support import Caller

from sprocketmq.broker.admin.unsupported import REFUSALS


@pytest.mark.parametrize("code", sorted(REFUSALS))
async def test_what_is_not_there_is_answered_with_a_reason(caller: Caller, code: int) -> None:
    answer = await caller(code)
    assert (answer.code, answer.remark) == REFUSALS[code]
