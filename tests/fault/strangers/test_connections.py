"""What frames, connections and unread answers may cost."""

from __future__ import annotations

import asyncio
import io
import logging
import struct
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from tests.fault.strangers.stranger import (
    FRIEND,
    STRANGER,
    Stranger,
    broker_among_strangers,
    nameserver_among_strangers,
    strangers,
)
from tests.loop_clock import LoopClock
from tests.unit.remoting.wire import until

from sprocketmq import logs
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting.connections import ConnectionRegistry
from sprocketmq.remoting.proxy_protocol import SIGNATURE

MIB = 1 << 20
ASK = RequestCode.GET_BROKER_CLUSTER_INFO


def connections_of(nameserver: Nameserver) -> ConnectionRegistry:
    return nameserver._server.connections


async def begin_frame(peer: Stranger, size: int) -> None:
    """All of a frame but its last byte."""
    header = b'{"code":34,"flag":0,"opaque":1}'
    peer.writer.write(struct.pack(">II", 4 + len(header) + size, len(header)) + header + bytes(size - 1))
    await peer.writer.drain()


# -- 6: unfinished frames ---------------------------------------------------------------------------------------------


async def test_hole_6_unfinished_frames_have_one_budget(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path, maxUnfinishedFrameBytes=str(8 * MIB)) as nameserver:
        registry = connections_of(nameserver)
        async with strangers(nameserver.port, *[STRANGER] * 9) as (first, *others):
            for peer in (first, *others):
                assert (await peer(ASK)).code == 0
            await begin_frame(first, 3 * MIB)
            await until(lambda: registry.held.unfinished > 2.9 * MIB)
            for peer in others[:7]:
                await begin_frame(peer, MIB * 3 // 4)
            assert await first.is_dropped(), "the largest goes first"
            await until(lambda: registry.held.unfinished > 5 * MIB)
            assert registry.held.unfinished <= 8 * MIB
            assert registry.refused["unfinished frames"] == 1
            assert (await others[7](ASK)).code == 0
        await until(lambda: registry.held.unfinished == 0)


async def test_hole_6_peers_without_a_request_share_a_part_of_it(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path, maxUnfinishedFrameBytes=str(8 * MIB)) as nameserver:
        registry = connections_of(nameserver)
        async with strangers(nameserver.port, *[STRANGER] * 5) as (known, *unknown):
            assert (await known(ASK)).code == 0
            await begin_frame(known, 3 * MIB)
            await until(lambda: registry.held.unfinished > 2.9 * MIB)
            for number, peer in enumerate(unknown):
                await begin_frame(peer, MIB // 2 + number)
            assert await unknown[-1].is_dropped(), "of them the largest, though the other one has more"
            assert registry.held.strange <= 2 * MIB
            await until(lambda: registry.held.unfinished > 4 * MIB)
            known.writer.write(b"\0")
            assert (await known.answer(1)).code != 0, "its frame became whole, and was answered: it is no heartbeat"
        await until(lambda: (registry.held.unfinished, registry.held.strange) == (0, 0))


async def test_a_large_message_may_be_the_first_request(tmp_path: Path) -> None:
    """As a Java producer's may be."""
    async with broker_among_strangers(tmp_path) as broker, strangers(broker.port, STRANGER) as (stranger,):
        fields = {"a": "P", "b": "T", "c": "TBW102", "d": 4, "e": 0, "f": 0, "g": 0, "h": 0, "i": ""}
        assert (await stranger(RequestCode.SEND_MESSAGE_V2, bytes(900_000), **fields)).code == 0


# -- headers and bodies -----------------------------------------------------------------------------------------------


def with_fields(count: int, name: str = "k", serialize_type: int = SerializeType.JSON) -> bytes:
    fields = {f"{name}{number}": "v" for number in range(count)}
    return encode_frame(Command(ASK, opaque=1, ext_fields=fields, serialize_type=serialize_type))


@pytest.mark.parametrize("serialize_type", list(SerializeType))
async def test_headers_are_short(tmp_path: Path, serialize_type: SerializeType) -> None:
    async with nameserver_among_strangers(tmp_path) as nameserver:
        long = encode_frame(Command(ASK, ext_fields={"k": "v" * 131_072}, serialize_type=serialize_type))
        wrong = [long, with_fields(257, "k", serialize_type), with_fields(1, "k" * 255, serialize_type)]
        for frame in wrong:
            async with strangers(nameserver.port, STRANGER) as (stranger,):
                stranger.writer.write(frame)
                assert await stranger.is_dropped()
        async with strangers(nameserver.port, STRANGER) as (stranger,):
            stranger.writer.write(with_fields(256, "k", serialize_type))
            assert (await stranger.answer(1)).code == 0


async def test_a_long_header_is_refused_before_it_is_there(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path) as nameserver:
        async with strangers(nameserver.port, STRANGER) as (stranger,):
            stranger.writer.write(struct.pack(">II", MIB, 131_073))
            assert await stranger.is_dropped()


async def test_bodies_by_code(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path) as broker:
        async with strangers(broker.port, STRANGER, FRIEND) as (stranger, admin):
            for code, size in (
                (RequestCode.HEART_BEAT, MIB + 1),
                (RequestCode.LOCK_BATCH_MQ, MIB + 1),
                (RequestCode.POP_MESSAGE, 1),
                (RequestCode.UPDATE_CONSUMER_OFFSET, 1),
            ):
                answer = await stranger(code, bytes(size))
                assert (answer.code, f"{size} bytes" in (answer.remark or "")) == (ResponseCode.SYSTEM_ERROR, True)
            answer = await admin(RequestCode.UPDATE_BROKER_CONFIG, b"traceOn=true\n" * 6000)
            assert "bytes" in (answer.remark or "")


# -- connections ------------------------------------------------------------------------------------------------------


async def test_connections_of_one_address(tmp_path: Path) -> None:
    listed = {"maxConnectionsPerAddress": "3", "brokerAllowFrom": "127.0.0.3"}
    # Loopback is this machine, and not held to it: a proxy tells where these come from.
    async with nameserver_among_strangers(tmp_path, proxyProtocolFrom=STRANGER, **listed) as nameserver:
        registry = connections_of(nameserver)
        peers = []
        for host in ("192.0.2.7",) * 3 + ("192.0.2.8",) + ("127.0.0.3",) * 5:
            peers.append(await proxied(nameserver.port, host))
            assert (await peers[-1](ASK)).code == 0
        fourth = await proxied(nameserver.port, "192.0.2.7")
        assert await fourth.is_dropped()
        assert registry.refused["connections of an address"] == 1
        peers[0].close()
        await until(lambda: len(registry) == 8)
        again = await proxied(nameserver.port, "192.0.2.7")
        assert (await again(ASK)).code == 0
        for peer in (*peers, fourth, again):
            peer.close()


async def test_some_connections_are_kept_for_this_machine(tmp_path: Path) -> None:
    async with nameserver_among_strangers(
        tmp_path, maxConnections="8", proxyProtocolFrom="127.0.0.9", adminAllowLocal="true"
    ) as nameserver:
        far = [await proxied(nameserver.port, f"192.0.2.{number}", "127.0.0.9") for number in range(7)]
        assert await far[-1].is_dropped()
        async with strangers(nameserver.port, STRANGER, STRANGER) as local:
            assert [(await peer(RequestCode.GET_NAMESRV_CONFIG)).code for peer in local] == [0, 0]
        for peer in far:
            peer.close()


# -- 9: behind a proxy ------------------------------------------------------------------------------------------------


async def proxied(port: int, host: str, by: str = STRANGER) -> Stranger:
    peer = await Stranger.connect(port, by)
    peer.writer.write(f"PROXY TCP4 {host} 127.0.0.1 4711 9876\r\n".encode())
    return peer


def version_2(host: bytes, command: int = 1, family: int = 0x11) -> bytes:
    addresses = host + bytes(len(host)) + struct.pack(">HH", 4711, 9876)
    return SIGNATURE + struct.pack(">BBH", 0x20 | command, family, len(addresses)) + addresses


async def test_hole_9_a_proxy_says_who_comes(tmp_path: Path) -> None:
    async with broker_among_strangers(
        tmp_path, adminAllowLocal="true", adminAllowFrom="192.0.2.1, 2001:db8::1", proxyProtocolFrom=STRANGER
    ) as broker:
        headers = [
            (b"PROXY TCP4 192.0.2.1 127.0.0.1 4711 9876\r\n", 0),
            (b"PROXY TCP4 192.0.2.2 127.0.0.1 4711 9876\r\n", ResponseCode.NO_PERMISSION),
            (b"PROXY TCP4 127.0.0.1 127.0.0.1 4711 9876\r\n", ResponseCode.NO_PERMISSION),
            (b"PROXY UNKNOWN\r\n", ResponseCode.NO_PERMISSION),
            (version_2(bytes([192, 0, 2, 1])), 0),
            (version_2(bytes.fromhex("20010db8000000000000000000000001"), family=0x21), 0),
            (version_2(bytes([192, 0, 2, 1]), command=0), ResponseCode.NO_PERMISSION),
        ]
        for header, code in headers:
            for pieces in ([header], [header[:5], header[5:]]):
                async with strangers(broker.port, STRANGER) as (peer,):
                    for piece in pieces:
                        peer.writer.write(piece)
                        await asyncio.sleep(0)
                    assert (await peer(RequestCode.GET_BROKER_CONFIG)).code == code, header
        async with strangers(broker.port, FRIEND) as (direct,):
            assert (await direct(RequestCode.GET_BROKER_CONFIG)).code == 0, "who is no proxy speaks for himself"


@pytest.mark.parametrize(
    "start",
    [b"GET / HTTP/1.1\r\n\r\n", b"PROXY TCP4 x y z\r\n", b"PROXY " + b"x" * 200, SIGNATURE + b"\x31\x11\0\0", b"\0"],
)
async def test_hole_9_a_proxy_that_says_nothing_brings_nobody(tmp_path: Path, start: bytes) -> None:
    async with nameserver_among_strangers(tmp_path, proxyProtocolFrom=STRANGER) as nameserver:
        async with strangers(nameserver.port, STRANGER) as (peer,):
            peer.writer.write(start)
            assert await peer.is_dropped()


async def test_hole_9_who_is_not_named_yet_is_counted(tmp_path: Path, loop_clock: LoopClock) -> None:
    """A header that never comes, or never ends: its connection takes a place for ten seconds, one of a quarter."""
    async with nameserver_among_strangers(tmp_path, maxConnections="16", proxyProtocolFrom=FRIEND) as nameserver:
        registry = connections_of(nameserver)
        silent = [await Stranger.connect(nameserver.port, FRIEND) for _ in range(4)]
        for peer, data in zip(
            silent, (b"", b"PROXY ", SIGNATURE, SIGNATURE + b"\x21\x11\x0f\xf0" + bytes(100)), strict=True
        ):
            peer.writer.write(data)
        await until(lambda: registry.unnamed == 4)
        fifth, direct = await Stranger.connect(nameserver.port, FRIEND), await Stranger.connect(nameserver.port)
        assert await fifth.is_dropped()
        assert (await direct(ASK)).code == 0
        loop_clock.advance(11)
        for peer in silent:
            assert await peer.is_dropped()
        assert registry.unnamed == 0
        async with strangers(nameserver.port, STRANGER) as (peer,):
            assert (await peer(ASK)).code == 0
        named = await proxied(nameserver.port, "192.0.2.7", FRIEND)
        assert (await named(ASK)).code == 0
        assert registry.unnamed == 0
        for peer in (*silent, fifth, direct, named):
            peer.close()


async def test_hole_9_nobody_else_names_himself(tmp_path: Path) -> None:
    async with nameserver_among_strangers(tmp_path, proxyProtocolFrom=FRIEND) as nameserver:
        peer = await proxied(nameserver.port, FRIEND)
        assert await peer.is_dropped()
        peer.close()


# -- unread answers ---------------------------------------------------------------------------------------------------


async def test_unread_answers_have_one_budget(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, maxUnreadAnswerBytes=str(2 * MIB)) as broker:
        async with strangers(broker.port, STRANGER, *[STRANGER] * 40) as (healthy, *greedy):
            fields = {"a": "P", "b": "T", "c": "TBW102", "d": 1, "e": 0, "f": 0, "g": 0, "h": 0, "i": ""}
            await healthy(RequestCode.SEND_MESSAGE_V2, bytes(250_000), **fields)
            pull = {
                "consumerGroup": "G", "topic": "T", "queueId": 0, "queueOffset": 0, "maxMsgNums": 1, "sysFlag": 4,
                "commitOffset": 0, "suspendTimeoutMillis": 0, "subVersion": 0, "subscription": "*",
            }  # fmt: skip
            registry = broker.server.connections
            for peer in greedy:
                cast(asyncio.Transport, peer.writer.transport).pause_reading()
                for _ in range(40):
                    peer.tell(RequestCode.PULL_MESSAGE, pull)
            await until(lambda: registry.refused["unread answers"])
            assert (await healthy(RequestCode.PULL_MESSAGE, **pull)).code == 0
            await until(lambda: sum(each.unread_bytes for each in registry) <= 2 * MIB)


# -- the log ----------------------------------------------------------------------------------------------------------


async def test_a_stranger_writes_few_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All within one second, however long that takes."""
    monkeypatch.setattr(
        logs, "time", SimpleNamespace(monotonic=lambda: 0.0, strftime=time.strftime, gmtime=time.gmtime)
    )
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(logs.LogfmtFormatter())
    logger = logging.getLogger("sprocketmq")
    logger.addHandler(handler)
    before = logger.level
    logger.setLevel(logging.INFO)
    try:
        async with nameserver_among_strangers(tmp_path) as nameserver:
            async with strangers(nameserver.port, STRANGER, FRIEND) as (stranger, friend):
                fields = {"namespace": "n", "key": "k" * 1000, "value": "v"}
                for _ in range(500):
                    assert (await stranger(RequestCode.PUT_KV_CONFIG, **fields)).code == ResponseCode.NO_PERMISSION
                assert (await friend(RequestCode.PUT_KV_CONFIG, **fields)).code == 0
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    lines = written.getvalue().splitlines()
    assert sum("request refused" in line for line in lines) == logs.PEER_LINES
    (put,) = [line for line in lines if "key put" in line]
    assert len(put) < 500, "and no more of a value than one can read"
