"""Transactions without an event loop: the user's functions run on the user's threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from tests.unit.client.fakes import FakeTransport, connect_producers, route, routes, stored, stores

from sprocketmq.client.message import Message, SendReceipt
from sprocketmq.client.producer.transactions import TransactionState
from sprocketmq.client.received import ReceivedMessage, split_records
from sprocketmq.client.sync.loop_thread import loop_thread
from sprocketmq.client.sync.producer import Producer
from sprocketmq.client.sync.transaction import on_a_thread
from sprocketmq.codes import RequestCode


@pytest.fixture
def transport(monkeypatch: pytest.MonkeyPatch) -> FakeTransport:
    network = FakeTransport({
        RequestCode.GET_ROUTEINFO_BY_TOPIC: routes({"T": route("a")}), RequestCode.SEND_MESSAGE_V2: stores(),
    })  # fmt: skip
    return connect_producers(monkeypatch, network)


@pytest.fixture
def producer(transport: FakeTransport) -> Iterator[Producer]:
    with Producer("g", "ns") as made:
        yield made


def ends(transport: FakeTransport) -> list[str]:
    ended = transport.commands(RequestCode.END_TRANSACTION)
    return [(command.ext_fields or {})["commitOrRollback"] for command in ended]


def test_a_block_commits_and_rolls_back(producer: Producer, transport: FakeTransport) -> None:
    with producer.transaction(Message("T", b"x")) as transaction:
        assert transaction.id == transaction.receipt.message_id
    with pytest.raises(RuntimeError), producer.transaction(Message("T", b"x")):
        raise RuntimeError
    with producer.transaction(Message("T", b"x")) as transaction:
        transaction.leave_open()
    assert ends(transport) == ["8", "12", "0"]


def test_work_runs_on_the_calling_thread_and_may_send(producer: Producer, transport: FakeTransport) -> None:
    def work(message: Message, receipt: SendReceipt) -> TransactionState:
        assert threading.current_thread() is threading.main_thread()
        assert producer.send(Message("T", b"another")).ok
        return TransactionState.COMMIT

    assert producer.send_in_transaction(Message("T", b"x"), work)[1] is TransactionState.COMMIT
    with pytest.raises(ZeroDivisionError):
        producer.send_in_transaction(Message("T", b"x"), lambda *_: 1 // 0)  # type: ignore[arg-type]
    assert ends(transport) == ["8", "0"]


def test_a_check_runs_beside_the_loop(producer: Producer) -> None:
    """So it may use the producer as well, and takes its time."""

    def check(message: ReceivedMessage) -> TransactionState:
        assert producer.send(Message("T", message.body)).ok
        return TransactionState.ROLLBACK

    (half,) = split_records(stored(b"?", 0), "a")
    asked = on_a_thread(check)(half)
    assert loop_thread().run(asked) is TransactionState.ROLLBACK  # type: ignore[arg-type]
