from __future__ import annotations

from tests.unit.broker.support import KEY, START_MS, Caller, FakeClock, bodies, fields

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode


async def test_messages_are_found_by_key_and_unique_key_within_a_time(caller: Caller, clock: FakeClock) -> None:
    await caller.send(body=b"one", KEYS="k1 k2")
    clock.now += 60_000
    await caller.send(body=b"two", KEYS="k2")

    async def query(key: str, begin: int = 0, end: int = START_MS * 2, **more: object) -> list[bytes]:
        asked = {"topic": "T", "key": key, "maxNum": 16, "beginTimestamp": begin, "endTimestamp": end, **more}
        answer = await caller.call(RequestCode.QUERY_MESSAGE, asked)
        assert "indexLastUpdateTimestamp" in fields(answer)
        return bodies(answer) if answer.code == 0 else []

    assert await query("k1") == [b"one"]
    assert await query("k2") == [b"one", b"two"]
    assert await query("k2", begin=START_MS + 30_000) == [b"two"]
    assert await query(KEY, _UNIQUE_KEY_QUERY="true") == [b"one", b"two"]
    assert await query("k3") == []


async def test_a_message_is_viewed_by_the_offset_in_its_id(broker: Broker, caller: Caller) -> None:
    await caller.send()
    answer = await caller.send(body=b"this one")
    offset = int(fields(answer)["msgId"][16:], 16)
    assert bodies(await caller(RequestCode.VIEW_MESSAGE_BY_ID, offset=offset)) == [b"this one"]
    for wrong in (offset + 1, -1, 1 << 40):
        assert (await caller(RequestCode.VIEW_MESSAGE_BY_ID, offset=wrong)).code == ResponseCode.SYSTEM_ERROR
