"""What a guard reads of long bodies: no more than may come, and in turns with everybody else; counted, not timed."""

from __future__ import annotations

import pytest
from tests.unit.remoting.test_turns import FullSocket, answers, settled

from sprocketmq.auth.account_realm import AccountRealm
from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.signed_fields import PIECE
from sprocketmq.auth.authorization.policies import PolicyType
from sprocketmq.auth.authorization.requirements import BODIES
from sprocketmq.auth.guard import Guard
from sprocketmq.codes import RequestCode, ResponseCode, SerializeType
from sprocketmq.protocol import java_json
from sprocketmq.protocol.bodies import codec
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig, SubscriptionGroupList
from sprocketmq.protocol.bodies.heartbeat import ConsumerData, HeartbeatData
from sprocketmq.protocol.bodies.locks import LockBatchRequestBody
from sprocketmq.protocol.bodies.pop import BatchAck, BatchAckMessageRequestBody
from sprocketmq.protocol.bodies.topic import CreateTopicListRequestBody, TopicConfig
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.signing import with_signature
from sprocketmq.remoting import Connection, Limits, ProcessorTable, Reply, Steps, turns
from sprocketmq.remoting.body_limits import LONG
from sprocketmq.remoting.connections import ConnectionRegistry

from .golden import entry

MANY = 400
SHORT = RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER


def heartbeat(*groups: str) -> bytes:
    return codec.encode(
        HeartbeatData(client_id="c", consumer_data_set=tuple(ConsumerData(group_name=group) for group in groups))
    )


def long_bodies() -> dict[int, bytes]:
    """Of each code that names many things, one that names MANY."""
    names = [f"G{number}" for number in range(MANY)]
    queues = frozenset(MessageQueue(name, "b", 0) for name in names)
    locks = codec.encode(LockBatchRequestBody(consumer_group="G", client_id="c", mq_set=queues))
    acks = tuple(BatchAck(consumer_group=name, topic="G") for name in names)
    return {
        RequestCode.HEART_BEAT: heartbeat(*names),
        RequestCode.LOCK_BATCH_MQ: locks,
        RequestCode.UNLOCK_BATCH_MQ: locks,
        RequestCode.BATCH_ACK_MESSAGE: codec.encode(BatchAckMessageRequestBody(acks=acks)),
        RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: codec.encode(
            CreateTopicListRequestBody(topic_config_list=tuple(TopicConfig(topic_name=name) for name in names))
        ),
        RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: codec.encode(
            SubscriptionGroupList(group_config_list=tuple(SubscriptionGroupConfig(group_name=name) for name in names))
        ),
    }


class Server:
    """Whoever is `app` may do everything with groups and topics that begin with G."""

    def __init__(self) -> None:
        self.done: list[tuple[str, int]] = []
        self.accounts = accounts = AccountStore()
        accounts.create_user("app", "pw")
        entries = [
            entry({"resource": f"{kind}:G*", "actions": ["All"], "sourceIps": None, "decision": "Allow"})
            for kind in ("Group", "Topic")
        ]
        accounts.put_acl("app", {PolicyType.CUSTOM: entries})
        self.table = ProcessorTable()
        guard = self.table.authority = Guard(AccountRealm(accounts), "c")
        accounts.on_change.append(guard.forget)
        self.table.add_long(BODIES, self._long)
        self.table.add(SHORT, self._short)
        self._registry = ConnectionRegistry(Limits(read_share_seconds=3600.0))
        self._sockets = 0

    def connect(self) -> tuple[Connection, FullSocket]:
        connection, socket = Connection(self.table, self._registry), FullSocket(self._sockets)
        self._sockets += 1
        connection.connection_made(socket)
        return connection, socket

    def _long(self, connection: Connection, request: Command) -> Steps:
        for _ in range(10):
            yield
        self.done.append((connection.session.name, request.code))
        return request.reply(remark="long")

    def _short(self, connection: Connection, request: Command) -> Reply:
        self.done.append((connection.session.name, request.code))
        return request.reply(remark="short")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A share is one step."""
    monkeypatch.setattr(turns, "SHARE_NS", 0)
    return Server()


def frame(code: int, body: bytes = b"", opaque: int = 0) -> bytes:
    fields = with_signature({}, body, access_key="app", secret_key="pw")
    return encode_frame(Command(code, opaque=opaque, ext_fields=fields, body=body))


@pytest.mark.parametrize("code", sorted(long_bodies()))
async def test_a_long_body_is_asked_about_in_turns(server: Server, code: int) -> None:
    (greedy, greedy_socket), (modest, modest_socket) = server.connect(), server.connect()
    greedy.data_received(frame(code, long_bodies()[code]) + frame(SHORT, opaque=1))
    modest.data_received(frame(SHORT))
    assert answers(modest_socket) == [(0, "short")]
    assert server.done == [("app", SHORT)]
    assert await settled(greedy) > 2 * MANY / 8  # names are read, and asked about, eight in a step
    assert answers(greedy_socket) == [(0, "long"), (1, "short")]
    assert server.done[1:] == [("app", code), ("app", SHORT)]


async def test_a_name_among_many_that_is_not_allowed(server: Server) -> None:
    connection, socket = server.connect()
    body = heartbeat(*(f"G{number}" for number in range(MANY)), "other")
    connection.data_received(frame(RequestCode.HEART_BEAT, body) + frame(SHORT, opaque=1))
    await settled(connection)
    (refused, short) = FrameDecoder().feed(b"".join(socket.written))
    assert refused.code == ResponseCode.NO_PERMISSION
    assert "Group:other" in (refused.remark or "")
    assert short.remark == "short"
    assert server.done == [("app", SHORT)]


async def test_a_body_that_is_too_long_is_not_read(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr(java_json, "loads", lambda data, *_: read.append(len(data)))
    for code, body in long_bodies().items():
        server.table.limit_body(code, len(body) - 1)
        connection, socket = server.connect()
        connection.data_received(frame(code, body))
        (refused,) = FrameDecoder().feed(b"".join(socket.written))
        assert f"a body of {len(body)} bytes" in (refused.remark or "")
    assert read == []
    assert server.table.refused["bodies"] == len(long_bodies())


def test_whatever_a_guard_reads_has_a_limit() -> None:
    assert not LONG & BODIES.keys()


async def test_a_peer_that_leaves_in_the_middle(server: Server) -> None:
    connection, socket = server.connect()
    connection.data_received(frame(RequestCode.HEART_BEAT, long_bodies()[RequestCode.HEART_BEAT]))
    connection.connection_lost(None)
    await settled(connection)
    assert socket.written == []
    assert server.done == []


# -- bodies that take long to hash ------------------------------------------------------------------------------------

LARGE = bytes(16 * PIECE)


def send(body: bytes, secret: str = "pw", **more: str) -> bytes:
    fields = {"a": "p", "b": "G", **more}
    signed = with_signature(fields, body, access_key="app", secret_key=secret)
    command = Command(RequestCode.SEND_MESSAGE_V2, ext_fields=signed, body=body, serialize_type=SerializeType.ROCKETMQ)
    return encode_frame(command)


@pytest.mark.parametrize(("secret", "readings", "code"), [("pw", 1, 0), ("wrong", 3, ResponseCode.NO_PERMISSION)])
async def test_a_large_body_is_hashed_in_turns(server: Server, secret: str, readings: int, code: int) -> None:
    """Where the first reading of its fields fails, and there are others, each is as long."""
    server.table.add(RequestCode.SEND_MESSAGE_V2, server._short)
    (greedy, greedy_socket), (modest, modest_socket) = server.connect(), server.connect()
    greedy.data_received(send(LARGE, secret, e="", SecurityToken="t"))
    modest.data_received(frame(SHORT))
    assert answers(modest_socket) == [(0, "short")]
    assert greedy_socket.written == []
    assert await settled(greedy) >= readings * 16 - 1
    (answer,) = FrameDecoder().feed(b"".join(greedy_socket.written))
    assert answer.code == code
    assert len(server.done) == (2 if code == 0 else 1)


async def test_a_user_that_is_gone_when_the_hash_is_done(server: Server) -> None:
    server.table.add(RequestCode.SEND_MESSAGE_V2, server._short)
    connection, socket = server.connect()
    connection.data_received(send(LARGE))
    server.accounts.delete_user("app")
    await settled(connection)
    (answer,) = FrameDecoder().feed(b"".join(socket.written))
    assert (answer.code, answer.remark) == (ResponseCode.NO_PERMISSION, "User:app is not found.")
    assert server.done == []
