from __future__ import annotations

import errno

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, fields

from sprocketmq.broker.delay.timer import Timer
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.record.sysflag import TRANSACTION_COMMIT


async def test_a_start_that_is_refused_forgets_no_transaction(
    start_broker: StartBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did not come to know what is open: that nothing is must not be written down."""
    broker = await start_broker()
    caller = Caller(broker)
    sent = fields(await caller.send(body=b"half", TRAN_MSG="true", PGROUP="PG", sys_flag=4))
    await caller.client.close(grace=0.1)
    await broker.stop()
    with monkeypatch.context() as broken:
        broken.setattr(Timer, "start", lambda _timer: refuse())
        with pytest.raises(OSError, match="Too many open files"):
            await start_broker()
    again = await start_broker()
    assert again.kinds.halves.open == {0: 0}
    where = {"commitLogOffset": int(sent["msgId"][16:], 16), "tranStateTableOffset": int(sent["queueOffset"])}
    verdict = {"producerGroup": "PG", "commitOrRollback": TRANSACTION_COMMIT, "msgId": "M"}
    ended = await Caller(again).call(RequestCode.END_TRANSACTION, {**where, **verdict})
    assert (ended.code, again.store.max_offset("T", 0)) == (ResponseCode.SUCCESS, 1)


def refuse() -> None:
    raise OSError(errno.EMFILE, "Too many open files")
