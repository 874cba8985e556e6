"""What costs a broker much is charged to whoever wants it, and what is its purpose is not (remoting/costs.py)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.certificates import Certificates
from tests.fault.strangers.attacks import pull_fields, send_fields
from tests.fault.strangers.key_updates import shake_hands
from tests.fault.strangers.stranger import FRIEND, STRANGER, Stranger, broker_among_strangers, strangers

from sprocketmq.broker.broker import Broker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.remoting import costs
from sprocketmq.remoting.tls import layer as tls_layer


def is_charged(broker: Broker, host: str) -> bool:
    return host in broker.server.connections.costs._earned


@pytest.mark.parametrize("sql", [True, False], ids=["SQL92", "TAG"])
async def test_long_expressions_cost_their_sender(tmp_path: Path, sql: bool) -> None:
    async def pull(peer: Stranger, text: str) -> int:
        fields = pull_fields("Tagged", text=text, kind="SQL92" if sql else "TAG")
        return (await peer(RequestCode.PULL_MESSAGE, **fields)).code

    long = " OR ".join(f"a{number} = 1" for number in range(200)) if sql else "||".join(f"t{n}" for n in range(1000))
    entries = {"enablePropertyFilter": "true"}
    async with broker_among_strangers(tmp_path, **entries) as broker:
        async with strangers(broker.port, STRANGER, FRIEND) as (stranger, friend):
            await friend(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields("Tagged"))
            for text in ("a = 1", "*") if not sql else ("a = 1", "b IS NULL"):
                await pull(friend, text)
            await pull(stranger, long)
            assert is_charged(broker, STRANGER)
            assert not is_charged(broker, FRIEND)


async def test_topics_beyond_the_pace_cost_their_sender(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(costs, "BURST_SECONDS", 1e9)  # here nobody rests
    async with broker_among_strangers(tmp_path, maxAutoCreatedPerSecond="1") as broker:
        async with strangers(broker.port, STRANGER) as (stranger,):
            codes: list[int] = []
            while ResponseCode.TOPIC_NOT_EXIST not in codes:
                assert not is_charged(broker, STRANGER)
                answer = await stranger(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields(f"T{len(codes)}"))
                codes.append(answer.code)
            assert len(codes) > 5
            assert is_charged(broker, STRANGER)


async def test_new_keys_of_tls_cost_their_sender(
    tmp_path: Path, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And are followed: what comes under the last of them is answered."""
    monkeypatch.setattr(costs, "BURST_SECONDS", 1e9)  # here nobody rests
    monkeypatch.setattr(tls_layer, "SHARE_NS", 20_000)  # no machine works so many out in less
    request = encode_frame(Command(RequestCode.GET_MAX_OFFSET, ext_fields={"topic": "T", "queueId": "0"}))
    async with broker_among_strangers(tmp_path, **certificates.server_keys()) as broker:
        async with strangers(broker.port, STRANGER) as (stranger,):
            keys = await shake_hands(stranger.reader, stranger.writer)
            stranger.writer.write(keys.next(2000, request))
            answers: list[Command] = []
            while not answers:
                answers = FrameDecoder(1 << 20).feed(keys.heard(await stranger.reader.read(1 << 16)))
            assert answers[0].is_response
            assert is_charged(broker, STRANGER)
            assert not is_charged(broker, FRIEND)


async def test_sends_and_pulls_cost_nothing(tmp_path: Path) -> None:
    """Nor does being refused by a topic that takes no more."""
    async with broker_among_strangers(tmp_path) as broker:
        async with strangers(broker.port, STRANGER) as (producer,):
            for _ in range(50):
                assert (await producer(RequestCode.SEND_MESSAGE_V2, bytes(100_000), **send_fields("Served"))).code == 0
                assert (await producer(RequestCode.PULL_MESSAGE, **pull_fields("Served"))).code == 0
                refused = await producer(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields("SCHEDULE_TOPIC_XXXX"))
                assert refused.code != 0
            assert not is_charged(broker, STRANGER)


async def test_refused_sends_and_pulls_are_told_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with broker_among_strangers(tmp_path) as broker:
        async with strangers(broker.port, STRANGER, FRIEND) as (stranger, friend):
            await friend(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields("Closed"))
            fields = {
                "topic": "Closed", "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 1,
                "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": False,
            }  # fmt: skip
            assert (await friend(RequestCode.UPDATE_AND_CREATE_TOPIC, **fields)).code == 0
            caplog.clear()
            sent = await stranger(RequestCode.SEND_MESSAGE_V2, b"x", **send_fields("Closed"))
            pulled = await stranger(RequestCode.PULL_MESSAGE, **pull_fields("Closed"))
    assert (sent.code, pulled.code) == (ResponseCode.NO_PERMISSION, ResponseCode.NO_PERMISSION)
    assert "MSG_REGION" in (sent.ext_fields or {})
    assert pulled.ext_fields == {"forbiddenType": "3"}
    assert [record.message for record in caplog.records].count("request refused") == 2
