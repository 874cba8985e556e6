"""Metrics, pressure and acknowledgements."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path

import pytest
from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller, bodies, make_settings, wants
from tests.unit.protocol.batches import encode_batch

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.send.backpressure import RESERVE_BYTES, Pressure, available_memory
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.errors import FlushFailed
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.store.files.disk import Disk, DiskFile


async def test_ticks_that_stay_late_and_scarce_memory_are_pressure(tmp_path: Path) -> None:
    free: list[int | None] = [None]
    settings = make_settings(tmp_path, brokerFastFailureEnable="true")
    pressure = Pressure(settings, lambda: free[0])
    changes: list[str | None] = []
    pressure.on_change.append(lambda: changes.append(pressure.remark))
    for lag in (200, 200, 200, 201, 999, 0, 201, 201):  # in time, hiccups, and nearly three in a row
        pressure.tick(lag)
        assert pressure.remark is None
    pressure.tick(201)
    pressure.tick(0)
    free[0] = RESERVE_BYTES - 1
    for _ in range(20):
        pressure.tick(0)
    assert [change and change.split("]")[0] for change in changes] == ["[TIMEOUT_CLEAN_QUEUE", None, "[OVERLOAD"]
    await settings.update({"brokerFastFailureEnable": "false"}, 1)
    free[0] = None
    for _ in range(20):
        pressure.tick(500)
    assert pressure.remark is None
    assert (available_memory() or 1) > 0


class SlowDisk:
    """A store whose flush is what the test says."""

    class config:
        sync_flush = True
        sync_flush_timeout = 50

    flushed_offset = 0
    failure: FlushFailed | None = None
    on_progress = None
    dispatched = 0

    def dispatch_ready(self) -> None:
        self.dispatched += 1


class Replies:
    def __init__(self) -> None:
        self.sent: list[bytes] = []
        self.changed = asyncio.Event()

    def reply(self, reply: bytes | Command, _request: Command) -> None:
        self.sent.append(encode_frame(reply) if isinstance(reply, Command) else reply)
        self.changed.set()


def asked(end: int) -> Command:
    return Command(RequestCode.SEND_MESSAGE_V2, opaque=end, body=b"in the log")


def answer(end: int) -> bytes:
    return encode_frame(Command(0, opaque=end, flag=1, ext_fields={"queueOffset": "7"}))


async def test_one_flush_answers_everyone_below_it_and_the_late_are_told() -> None:
    store, replies = SlowDisk(), Replies()
    acks = Acks(store, Saver("topics", lambda: lambda: None))  # type: ignore[arg-type]
    acks.start()
    for end in (10, 20, 30):
        acks.add(end, replies, asked(end), answer(end))  # type: ignore[arg-type]
    store.flushed_offset = 20
    acks.progress()
    assert replies.sent == [answer(10), answer(20)]
    assert store.dispatched == 1
    replies.changed.clear()
    await asyncio.wait_for(replies.changed.wait(), 60)
    (late,) = FrameDecoder().feed(replies.sent[2])
    assert (late.code, late.opaque, late.flag) == (ResponseCode.FLUSH_DISK_TIMEOUT, 30, 1)
    assert late.remark
    assert late.ext_fields == {"queueOffset": "7"}  # the message is in the log all the same
    acks.stop()


async def test_an_answer_that_cannot_be_given_costs_its_peer_alone(caplog: pytest.LogCaptureFixture) -> None:
    class Unanswerable:
        peer = "somebody"
        aborted = ""

        def reply(self, _answer: object, _request: Command) -> None:
            raise ValueError("made to fail")

        def abort(self, reason: str) -> None:
            self.aborted = reason

    store, replies, bad = SlowDisk(), Replies(), Unanswerable()
    acks = Acks(store, Saver("topics", lambda: lambda: None))  # type: ignore[arg-type]
    acks.start()
    acks.add(10, bad, asked(10), answer(10))  # type: ignore[arg-type]
    acks.add(20, replies, asked(20), answer(20))  # type: ignore[arg-type]
    store.flushed_offset = 20
    acks.progress()
    assert replies.sent == [answer(20)]
    assert bad.aborted
    assert "answer not given" in caplog.text
    acks.stop()


async def test_after_a_failed_flush_nothing_is_acknowledged() -> None:
    store, replies = SlowDisk(), Replies()
    acks = Acks(store, Saver("topics", lambda: lambda: None))  # type: ignore[arg-type]
    acks.start()
    acks.add(10, replies, asked(10), answer(10))  # type: ignore[arg-type]
    store.failure, store.flushed_offset = FlushFailed("the disk is gone"), 10
    acks.progress()
    (refused,) = FrameDecoder().feed(*replies.sent)
    assert (refused.code, refused.remark) == (ResponseCode.SERVICE_NOT_AVAILABLE, "the disk is gone")
    acks.stop()


class FullDisk(Disk):
    """Takes no new queue files while it is `full`."""

    full = False

    def create(self, path: Path, size: int) -> DiskFile:
        if self.full and "consumequeue" in path.parts:
            raise OSError(errno.ENOSPC, "made to fail")
        return super().create(path, size)


async def test_what_a_full_disk_keeps_from_its_readers_is_acknowledged_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = make_settings(tmp_path, flushDiskType="SYNC_FLUSH", mappedFileSizeConsumeQueue="40")
    disk = FullDisk()
    broker = Broker(settings.current, settings.store, files=disk)
    await broker.start()
    caller = Caller(broker)
    assert (await caller.send(body=b"0")).code == ResponseCode.SUCCESS
    disk.full = True
    batch = encode_batch([(0, b"%d" % number, b"") for number in (1, 2)])  # the second needs another file
    assert (await caller.send(body=batch, code=RequestCode.SEND_BATCH_MESSAGE)).code == ResponseCode.SUCCESS
    assert "messages not dispatched from log offset" in caplog.text
    assert (await caller.send(body=b"refused", queue_id=1)).code == ResponseCode.SERVICE_NOT_AVAILABLE
    disk.full = False
    assert (await caller.send(body=b"3")).code == ResponseCode.SUCCESS
    pulled = [bodies(await caller.pull(offset=offset)) for offset in (0, 2)]
    assert pulled == [[b"0", b"1"], [b"2", b"3"]]  # one file at a time
    await caller.client.close(grace=0.1)
    await broker.stop()


async def test_whatever_goes_wrong_with_the_readers_the_others_are_answered() -> None:
    class Broken(SlowDisk):
        why: str = ""

        def dispatch_ready(self) -> None:
            raise ValueError("no reader expected this")

        def dispatch_failed(self, error: Exception) -> None:
            self.why = str(error)

    store, replies = Broken(), Replies()
    acks = Acks(store, Saver("topics", lambda: lambda: None))  # type: ignore[arg-type]
    acks.start()
    for end in (10, 20, 30):
        acks.add(end, replies, asked(end), answer(end))  # type: ignore[arg-type]
    store.flushed_offset = 20
    acks.progress()
    assert replies.sent == [answer(10), answer(20)]
    assert (len(acks), store.why) == (1, "no reader expected this")
    acks.stop()


async def scrape(port: int, request: bytes = b"GET /metrics HTTP/1.1\r\n\r\n") -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    text = (await asyncio.wait_for(reader.read(), 60)).decode()
    writer.close()
    return text


async def test_metrics_have_the_names_of_rocketmq_5(start_broker: StartBroker) -> None:
    broker = await start_broker(metricsExporterType="PROM", metricsPromExporterPort="0")
    assert broker.exporter is not None
    caller = Caller(broker)
    for _ in range(3):
        await caller.send()
    await caller.heartbeat("G", "c1", wants(), producers=("P",))
    await caller.pull(count=2)
    await caller.pull(sys_flag=5, commit=1, offset=3)
    page = await scrape(broker.exporter.port)
    assert page.startswith("HTTP/1.1 200 OK")
    node = 'cluster="DefaultCluster",node_type="broker",node_id="broker-a"'
    for line in (
        f'rocketmq_messages_in_total{{{node},topic="T",message_type="normal",is_system="false"}} 3',
        f'rocketmq_messages_out_total{{{node},topic="T",consumer_group="G",is_retry="false",is_system="false"}} 2',
        f'rocketmq_consumer_lag_messages{{{node},topic="T",consumer_group="G",is_retry="false",is_system="false"}} 2',
        f"rocketmq_broker_permission{{{node}}} 6",
        "# TYPE rocketmq_throughput_in_total counter",
        f'rocketmq_producer_connections{{{node},language="python",version="5.3.3",protocol_type="remoting"}} 1',
    ):
        assert line in page
    assert (await scrape(broker.exporter.port, b"GET / HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 404")
    assert (await scrape(broker.exporter.port, b"POST /metrics HTTP/1.1\r\n\r\n")).startswith("HTTP/1.1 405")
    await caller.client.close(grace=0.1)
