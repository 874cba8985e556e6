"""What peers want beyond a limit is counted, and a peer without a right signature stays a stranger."""

from __future__ import annotations

import struct

import pytest
from tests.unit.broker.conftest import StartBroker, broker, caller, clock, connect, start_broker
from tests.unit.broker.support import Caller
from tests.unit.remoting.wire import BarePeer, until

from sprocketmq.broker.broker import Broker
from sprocketmq.broker.metrics.prometheus import Metrics
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import with_signature

__all__ = ["broker", "caller", "clock", "connect", "start_broker"]

KIB = 1024
ROOT = '{"username":"root","password":"root-secret"}'


def counted(broker: Broker, limit: str) -> int:
    (line,) = [
        line
        for line in Metrics(broker).text().splitlines()
        if line.startswith("sprocketmq_refused_total") and f'limit="{limit}"' in line
    ]
    return int(line.rpartition(" ")[2])


@pytest.mark.parametrize(
    ("limit", "head"),
    [("frames", struct.pack(">II", 17 * KIB * KIB, 20)), ("headers", struct.pack(">II", 300 * KIB, 200 * KIB))],
)
async def test_frames_and_headers(broker: Broker, limit: str, head: bytes) -> None:
    assert counted(broker, limit) == 0
    peer = await BarePeer.connect(broker.port)
    await peer.write_bytes(head)
    assert await peer.is_dropped()
    peer.close()
    await until(lambda: counted(broker, limit))
    assert counted(broker, limit) == 1


async def test_tls_is_no_long_frame(broker: Broker) -> None:
    peer = await BarePeer.connect(broker.port)
    await peer.write_bytes(b"\x16\x03\x01\x02\x00\x01\x00\x01")
    assert await peer.is_dropped()
    peer.close()
    await until(lambda: len(broker.server.connections) == 0)
    assert counted(broker, "frames") == 0


async def test_bodies(broker: Broker, caller: Caller) -> None:
    answer = await caller(RequestCode.GET_MAX_OFFSET, b"body", topic="T", queueId=0)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert counted(broker, "bodies") == 1


async def test_offsets(broker: Broker, caller: Caller) -> None:
    await caller.send("T")
    await caller.pull("T", group="G")
    for queue_id, offset in ((0, 1), (0, 2), (0, -1), (99, 0)):
        await caller(
            RequestCode.UPDATE_CONSUMER_OFFSET, consumerGroup="G", topic="T", queueId=queue_id, commitOffset=offset
        )
    assert counted(broker, "offsets") == 3


async def test_with_accounts_a_signature_makes_a_peer_known(start_broker: StartBroker) -> None:
    """Whoever holds much of the room for unfinished frames must have said who it is."""
    broker = await start_broker(authenticationEnabled="true", initAuthenticationUser=ROOT)
    held, half = broker.server.connections.held, struct.pack(">II", 4 + 20 + 5000, 20) + bytes(3000)
    peer = await BarePeer.connect(broker.port)
    ask = Command(RequestCode.GET_MAX_OFFSET, ext_fields={"topic": "T", "queueId": "0"})
    await peer.write(ask)
    refused = await peer.read()
    assert refused is not None
    assert refused.code == ResponseCode.NO_PERMISSION
    await peer.write_bytes(half)
    await until(lambda: held.unfinished == len(half))
    assert held.strange == len(half)
    peer.close()
    await until(lambda: held.unfinished == 0)

    known = await BarePeer.connect(broker.port)
    signed = with_signature(ask.ext_fields or {}, b"", access_key="root", secret_key="root-secret")
    await known.write(Command(ask.code, ext_fields=signed))
    assert (answer := await known.read()) is not None
    assert answer.code == 0
    await known.write_bytes(half)
    await until(lambda: held.unfinished == len(half))
    assert held.strange == 0
    known.close()
