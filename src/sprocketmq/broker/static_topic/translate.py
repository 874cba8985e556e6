"""How each request about a logical queue is answered from the physical queues below it.

The messages of a pull keep the offsets of their physical queue; `offsetDelta` tells the client what to add. Where the
holder of an item refuses, its refusal is passed on as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from sprocketmq.broker.static_topic.forward import LogicalAsk
from sprocketmq.broker.static_topic.mapping_items import (
    is_decided,
    is_ended,
    item_after,
    item_at,
    to_logical,
    to_physical,
    within,
)
from sprocketmq.broker.static_topic.mappings import LogicalQueue
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.bodies.mapping import LogicQueueMappingItem
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.sysflag import TRANSACTION_PREPARED, transaction_type
from sprocketmq.protocol.requests.pull import COMMIT_OFFSET, SUSPEND

Way = Callable[[LogicalAsk], Awaitable[Command]]

_END = 1 << 63
#: While nobody has decided where a new leader begins, a pull at the end of the old one is held back for so long.
_UNDECIDED_SECONDS = 0.2


async def send(ask: LogicalAsk) -> Command:
    """The answer names the logical queue, and the offset there; -1 while that is not decided.

    The offset of half a transaction stays as it is: its sender ends the transaction with it.
    """
    leader = ask.queue.leader
    reply = await ask.of(leader)
    fields = dict(reply.ext_fields or {})
    if "queueOffset" in fields:
        fields["queueId"] = str(ask.queue.queue_id)
        if transaction_type(ask.sys_flag) != TRANSACTION_PREPARED:
            fields["queueOffset"] = str(to_logical(leader, int(fields["queueOffset"])))
    return ask.request.reply(reply.code, reply.remark, ext_fields=fields)


# -- pulls ------------------------------------------------------------------------------------------------------------


async def pull(ask: LogicalAsk) -> Command:
    """Older items are read without waiting; where one ends, the client is sent to the next."""
    await _commit_with(ask)
    item, offset = _place_of(ask, ask.number("queueOffset"))
    is_leader = item.gen == ask.queue.leader.gen
    flags = ask.sys_flag & ~(COMMIT_OFFSET if is_leader else COMMIT_OFFSET | SUSPEND)
    count = ask.number("maxMsgNums")
    if is_ended(item):
        count = min(count, item.end_offset - offset)
    reply = await ask.of(item, queueOffset=offset, sysFlag=flags, maxMsgNums=count)
    if "nextBeginOffset" not in (reply.ext_fields or {}):
        return _passed_on(ask, reply)
    answer = _turned(ask, item, offset, reply)
    if answer.code == ResponseCode.PULL_NOT_FOUND and not is_leader and ask.sys_flag & SUSPEND:
        await asyncio.sleep(min(_UNDECIDED_SECONDS, ask.number("suspendTimeoutMillis") / 1000))
    return answer


def _place_of(ask: LogicalAsk, logical: int) -> tuple[LogicQueueMappingItem, int]:
    """The item to read, and where in its physical queue."""
    item = _item_at(ask, logical)
    offset = to_physical(item, logical)
    after = item_after(ask.queue.items, item) if is_ended(item) and offset >= item.end_offset else None
    return (item, offset) if after is None else (after, after.start_offset)


async def _commit_with(ask: LogicalAsk) -> None:
    """A pull may carry a commit, of an offset that another item may hold."""
    if ask.sys_flag & COMMIT_OFFSET and ask.number("commitOffset") >= 0:
        with suppress(RequestRefused):  # a holder that is away keeps nobody from reading; commits come again
            await _commit(ask, ask.number("commitOffset"))


def _turned(ask: LogicalAsk, item: LogicQueueMappingItem, offset: int, reply: Command) -> Command:
    fields = dict(reply.ext_fields or {})
    following, low, high = (int(fields[key]) for key in ("nextBeginOffset", "minOffset", "maxOffset"))
    code, there = reply.code, item
    if code != ResponseCode.SUCCESS:
        code, there, following = _where_to(ask.queue, item, offset, code, following, low, high)
    if there is not item:
        low = high = there.start_offset
    fields["nextBeginOffset"] = str(to_logical(there, within(there, following)))
    fields["minOffset"] = str(to_logical(there, low))
    fields["maxOffset"] = str(max(to_logical(there, high), to_logical(ask.queue.leader, 0)))
    fields["offsetDelta"] = str(there.logic_offset - there.start_offset)
    return ask.request.reply(code, reply.remark, ext_fields=fields, body=reply.body)


def _where_to(
    queue: LogicalQueue, item: LogicQueueMappingItem, offset: int, code: int, following: int, low: int, high: int
) -> tuple[int, LogicQueueMappingItem, int]:
    """The code, the item and the physical offset to go on from, when a pull has brought nothing."""
    is_leader = item.gen == queue.leader.gen
    if not is_leader and offset >= within(item, high):
        after = item_after(queue.items, item)
        if after is None:  # the leader has no offset yet
            return ResponseCode.PULL_NOT_FOUND, item, offset
        return ResponseCode.PULL_RETRY_IMMEDIATELY, after, after.start_offset
    if offset < low:
        is_oldest = all(each.gen >= item.gen for each in queue.items)
        return ResponseCode.PULL_OFFSET_MOVED if is_oldest else ResponseCode.PULL_RETRY_IMMEDIATELY, item, low
    return code, item, following


# -- offsets ----------------------------------------------------------------------------------------------------------


async def max_offset(ask: LogicalAsk) -> Command:
    item = _item_at(ask, _END)
    return _offset_of(ask, item, await ask.of(item))


async def min_offset(ask: LogicalAsk) -> Command:
    item = _item_at(ask, 0)
    return _offset_of(ask, item, await ask.of(item))


async def earliest_store_time(ask: LogicalAsk) -> Command:
    return _passed_on(ask, await ask.of(_item_at(ask, 0)))


async def search(ask: LogicalAsk) -> Command:
    """The first item with a message of that time or later; behind all messages it is the end of the last item."""
    items = [item for item in ask.queue.items if is_decided(item)]
    for item in items:
        reply = await ask.of(item)
        if reply.code != ResponseCode.SUCCESS:
            return _passed_on(ask, reply)
        if item is items[-1] or int((reply.ext_fields or {})["offset"]) < await _end_of(ask, item):
            return _offset_of(ask, item, reply)
    raise _not_readable(ask)


async def _end_of(ask: LogicalAsk, item: LogicQueueMappingItem) -> int:
    if is_ended(item):
        return item.end_offset
    reply = await ask.of(item, RequestCode.GET_MAX_OFFSET)
    return int((reply.ext_fields or {}).get("offset", "0"))


async def query(ask: LogicalAsk) -> Command:
    """What the group has committed last: in the leader's queue, or in the one before it, and so on."""
    items = ask.queue.items
    if len(items) == 1 and items[0].logic_offset == 0:
        return _offset_of(ask, items[0], await ask.of(items[0]))
    for item in reversed([item for item in items if is_decided(item)]):
        reply = await ask.of(item, setZeroIfNotFound="false")
        if reply.code != ResponseCode.QUERY_NOT_FOUND:
            return _offset_of(ask, item, reply)
    raise RequestRefused(ResponseCode.QUERY_NOT_FOUND, "the group has no offset of this queue yet")


async def update(ask: LogicalAsk) -> Command:
    return _passed_on(ask, await _commit(ask, ask.number("commitOffset")))


async def _commit(ask: LogicalAsk, offset: int) -> Command:
    item = _item_at(ask, offset)
    return await ask.of(item, RequestCode.UPDATE_CONSUMER_OFFSET, commitOffset=max(0, to_physical(item, offset)))


# -- answers ----------------------------------------------------------------------------------------------------------


def _item_at(ask: LogicalAsk, offset: int) -> LogicQueueMappingItem:
    item = item_at(ask.queue.items, offset)
    if item is None:
        raise _not_readable(ask)
    return item


def _not_readable(ask: LogicalAsk) -> RequestRefused:
    remark = f"queue {ask.queue.queue_id} of {ask.queue.topic} has no item that can be read yet"
    return RequestRefused(ResponseCode.NOT_LEADER_FOR_QUEUE, remark)


def _offset_of(ask: LogicalAsk, item: LogicQueueMappingItem, reply: Command) -> Command:
    if reply.code != ResponseCode.SUCCESS:
        return _passed_on(ask, reply)
    offset = to_logical(item, within(item, int((reply.ext_fields or {})["offset"])))
    return ask.request.reply(ext_fields={"offset": str(offset)})


def _passed_on(ask: LogicalAsk, reply: Command) -> Command:
    return ask.request.reply(reply.code, reply.remark, ext_fields=reply.ext_fields)


WAYS: dict[int, Way] = {
    RequestCode.SEND_MESSAGE: send,
    RequestCode.SEND_MESSAGE_V2: send,
    RequestCode.SEND_BATCH_MESSAGE: send,
    RequestCode.PULL_MESSAGE: pull,
    RequestCode.LITE_PULL_MESSAGE: pull,
    RequestCode.GET_MAX_OFFSET: max_offset,
    RequestCode.GET_MIN_OFFSET: min_offset,
    RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: search,
    RequestCode.GET_EARLIEST_MSG_STORETIME: earliest_store_time,
    RequestCode.QUERY_CONSUMER_OFFSET: query,
    RequestCode.UPDATE_CONSUMER_OFFSET: update,
}
