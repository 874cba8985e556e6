"""What strangers do to a broker to use it up, each for as long as it is let, and a healthy client beside them.

An attack opens its connections again when they are dropped, and never ends by itself. As a program: ATTACK PORT.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from itertools import count

from tests.fault.strangers.hostile_frames import Report, attack, frames
from tests.fault.strangers.key_updates import shake_hands
from tests.fault.strangers.stranger import PATIENCE, Stranger

from sprocketmq.codes import RequestCode
from sprocketmq.errors import FrameError
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData, ProducerData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody
from sprocketmq.protocol.message_queue import MessageQueue

MIB = 1 << 20
SUSPEND, SUBSCRIPTION = 2, 4
_PAUSE = 0.01

Attack = Callable[[int], Coroutine[None, None, None]]


def send_fields(topic: str) -> dict[str, object]:
    return {"a": "P", "b": topic, "c": "TBW102", "d": 1, "e": 0, "f": 0, "g": 0, "h": 0, "i": ""}


def pull_fields(topic: str, offset: int = 0, group: str = "G", text: str = "*", kind: str = "TAG") -> dict[str, object]:
    return {
        "consumerGroup": group, "topic": topic, "queueId": 0, "queueOffset": offset, "maxMsgNums": 1,
        "sysFlag": SUSPEND | SUBSCRIPTION, "commitOffset": 0, "suspendTimeoutMillis": 1 << 40, "subVersion": 0,
        "subscription": text, "expressionType": kind,
    }  # fmt: skip


async def unfinished_frames(port: int) -> None:
    """Each connection sends 15 MiB of a frame that has one byte more."""
    header = b'{"code":310,"flag":0,"opaque":1}'
    frame = struct.pack(">II", 4 + len(header) + 15 * MIB, len(header)) + header + bytes(15 * MIB - 1)

    async def begin(peer: Stranger) -> None:
        await peer(RequestCode.GET_MAX_OFFSET, topic="T", queueId=0)
        for at in range(0, len(frame), MIB):
            peer.writer.write(frame[at : at + MIB])
            await peer.writer.drain()
        await peer.reader.read()

    await _many(port, 40, begin)


async def parked_bodies(port: int) -> None:
    """Pulls that wait, each with a body of 1 MiB."""
    body = bytes(MIB)

    async def park(peer: Stranger) -> None:
        for _ in range(60):
            peer.tell(RequestCode.PULL_MESSAGE, pull_fields("Quiet", 1), body)
            await peer.writer.drain()
        await peer.reader.read()

    await _seed(port, "Quiet", 10)
    await _many(port, 10, park)


async def woken_requests(port: int) -> None:
    """One message of 100 KB wakes two thousand pulls, whose clients read nothing."""
    offsets = {"next": await _seed(port, "Busy", 10)}

    async def wait(peer: Stranger) -> None:
        for _ in range(200):
            peer.tell(RequestCode.PULL_MESSAGE, pull_fields("Busy", offsets["next"]))
        await peer.writer.drain()
        await asyncio.sleep(5)

    async def wake() -> None:
        while True:
            await asyncio.sleep(0.5)
            offsets["next"] = await _seed(port, "Busy", 100_000) + 1

    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(wake())
        tasks.create_task(_many(port, 10, wait))


async def unread_answers(port: int) -> None:
    """Pulls of 250 KB, again and again, whose answers nobody reads."""
    await _seed(port, "Large", 250_000)

    async def ask(peer: Stranger) -> None:
        for _ in range(100):
            peer.tell(RequestCode.PULL_MESSAGE, pull_fields("Large"))
        await peer.writer.drain()
        await asyncio.sleep(5)

    await _many(port, 50, ask)


async def expressions(port: int) -> None:
    """Pulls that wait, each with tags of its own, 60 KB of them."""
    await _seed(port, "Tagged", 10)
    numbers = count()

    async def park(peer: Stranger) -> None:
        for _ in range(200):
            tags = "||".join(f"t{next(numbers)}" for _ in range(6000))
            peer.tell(RequestCode.PULL_MESSAGE, pull_fields("Tagged", 1, text=tags[:60_000]))
            await peer.writer.drain()
            await asyncio.sleep(_PAUSE)
        await peer.reader.read()

    await _many(port, 4, park)


async def heartbeats(port: int) -> None:
    """Each names as many groups as it may, all of them new."""
    numbers = count()

    async def beat(peer: Stranger) -> None:
        while True:
            names = [f"G{next(numbers)}" for _ in range(100)]
            data = HeartbeatData(
                client_id=f"c{next(numbers)}",
                consumer_data_set=tuple(ConsumerData(group_name=name) for name in names),
                producer_data_set=tuple(ProducerData(group_name=name) for name in names),
            )
            await peer(RequestCode.HEART_BEAT, codec.encode(data))
            await asyncio.sleep(_PAUSE)

    await _many(port, 4, beat)


async def topics(port: int) -> None:
    """Sends, each to a topic of its own."""
    numbers = count()

    async def flood(peer: Stranger) -> None:
        while True:
            opaques = [
                peer.tell(RequestCode.SEND_MESSAGE_V2, send_fields(f"T{next(numbers)}"), b"x") for _ in range(50)
            ]
            for opaque in opaques:
                await peer.answer(opaque)
            await asyncio.sleep(_PAUSE)

    await _many(port, 2, flood)


async def locks(port: int) -> None:
    """Queues of made-up groups."""
    numbers = count()

    async def lock(peer: Stranger) -> None:
        while True:
            queues = frozenset(MessageQueue("T", "broker-a", number) for number in range(500))
            body = LockBatchRequestBody(consumer_group=f"L{next(numbers)}", client_id="c", mq_set=queues)
            await peer(RequestCode.LOCK_BATCH_MQ, codec.encode(body))
            await asyncio.sleep(_PAUSE)

    await _many(port, 2, lock)


async def wrong_signatures(port: int) -> None:
    """Requests of 8 MiB of somebody who is known, none of them rightly signed, in three readings."""
    fields = {**send_fields("Forged"), "AccessKey": "app", "Signature": "A" * 27 + "=", "SecurityToken": "t"}
    body = bytes(8 * MIB)

    async def forge(peer: Stranger) -> None:
        for _ in range(100):
            peer.tell(RequestCode.SEND_MESSAGE_V2, fields, body)
            await peer.writer.drain()
        await peer.reader.read()

    await _many(port, 8, forge)


async def connections(port: int) -> None:
    """Many that say nothing."""

    async def idle(peer: Stranger) -> None:
        await peer.reader.read()

    await _many(port, 500, idle)


async def handshakes(port: int) -> None:
    """TLS is begun, has a server sign its answer, and is given up; as fast as it goes."""

    hello = client_hello()

    async def begin(peer: Stranger) -> None:
        peer.writer.write(hello)
        await peer.reader.read(1)

    await _many(port, 40, begin, pause=0.0)


async def key_updates(port: int) -> None:
    """New keys of TLS, one after the other, each of which a server has to work out."""

    async def update(peer: Stranger) -> None:
        keys = await shake_hands(peer.reader, peer.writer)
        while True:
            peer.writer.write(keys.next(200))
            await peer.writer.drain()
            await asyncio.sleep(0)

    await _many(port, 8, update)


def client_hello() -> bytes:
    out = ssl.MemoryBIO()
    talk = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), out, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        talk.do_handshake()
    return out.read()


async def hostile_frames(port: int) -> None:
    """Frames that no good client sends, without end."""
    codes = sorted(code.value for code in RequestCode)
    await asyncio.gather(*(attack(port, frames(seed, codes), 1 << 60, Report()) for seed in range(8)))


ATTACKS: dict[str, Attack] = {
    "hostile frames": hostile_frames,
    "unfinished frames": unfinished_frames,
    "parked bodies": parked_bodies,
    "woken requests": woken_requests,
    "unread answers": unread_answers,
    "expressions": expressions,
    "heartbeats": heartbeats,
    "topics": topics,
    "locks": locks,
    "wrong signatures": wrong_signatures,
    "connections": connections,
    "handshakes": handshakes,
    "key updates": key_updates,
}


async def _many(port: int, number: int, act: Callable[[Stranger], Awaitable[object]], pause: float = 0.5) -> None:
    async def again() -> None:
        while True:
            with contextlib.suppress(OSError, AssertionError, FrameError, TimeoutError):
                peer = await Stranger.connect(port)
                try:
                    await act(peer)
                finally:
                    peer.close()
            await asyncio.sleep(pause)

    async with asyncio.TaskGroup() as tasks:
        for _ in range(number):
            tasks.create_task(again())


async def _seed(port: int, topic: str, size: int) -> int:
    """One message; its offset."""
    peer = await Stranger.connect(port, "127.0.0.2")
    try:
        answer = await peer(RequestCode.SEND_MESSAGE_V2, bytes(size), **send_fields(topic))
        return int((answer.ext_fields or {}).get("queueOffset", 0))
    finally:
        peer.close()


class HealthyClient:
    """Sends and pulls, one after the other; `seconds` are what each request took."""

    def __init__(self, port: int) -> None:
        self.seconds: list[float] = []
        self.refused = 0
        self._port = port
        self._answered = asyncio.Event()

    async def run(self, pause: float = 0.002) -> None:
        peer = await Stranger.connect(self._port, "127.0.0.2")
        requests = _healthy_requests()
        try:
            while True:
                code, fields, body = next(requests)
                begin = time.perf_counter()
                answer = await peer(code, body, **fields)
                self.seconds.append(time.perf_counter() - begin)
                self.refused += answer.code != 0
                self._answered.set()
                await asyncio.sleep(pause)
        finally:
            peer.close()

    async def answered(self, times: int) -> None:
        """Waits for so many answers more."""
        until = len(self.seconds) + times
        async with asyncio.timeout(PATIENCE):
            while len(self.seconds) < until:
                self._answered.clear()
                await self._answered.wait()

    def percentile(self, part: float) -> float:
        return percentile(self.seconds, part)


def percentile(values: Sequence[float], part: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def _healthy_requests() -> Iterator[tuple[int, dict[str, object], bytes]]:
    while True:
        yield RequestCode.SEND_MESSAGE_V2, send_fields("Healthy"), b"x" * 100
        yield RequestCode.PULL_MESSAGE, pull_fields("Healthy", group="Healthy"), b""
        yield RequestCode.GET_MAX_OFFSET, {"topic": "Healthy", "queueId": 0}, b""


if __name__ == "__main__":
    asyncio.run(ATTACKS[sys.argv[1]](int(sys.argv[2])))
