"""Transactions one after another, before, while and after their broker is killed."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from itertools import count

from tests.peers import probe
from tests.peers.clients import LocalState, Producer
from tests.peers.lines import PeerError
from tests.peers.messages import Outgoing, Received, Sent

END_TRANSACTION = 37
COMMIT = 8
#: What the local transaction says, and what its producer answers when it is asked: the key of the message tells.
_KINDS: tuple[tuple[LocalState, str], ...] = (
    ("COMMIT_MESSAGE", "commit"),
    ("ROLLBACK_MESSAGE", "rollback"),
    ("UNKNOW", "commit"),
    ("UNKNOW", "rollback"),
)
#: After the broker is back.
_MORE = 12


class TransactionLoad:
    """`sent` are those that the broker took; one that failed may or may not be there, and is asked about then."""

    def __init__(self, producer: Producer, topic: str) -> None:
        self._producer, self._topic = producer, topic
        self.sent: dict[bytes, tuple[str, Sent]] = {}
        self.failed: dict[bytes, str] = {}
        self._back = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        producer.answer_checks(by_key={"commit": ["COMMIT_MESSAGE"], "rollback": ["ROLLBACK_MESSAGE"]})

    def start(self) -> None:
        self._thread.start()

    def finish(self) -> None:
        """The broker is back: a few more, and the load ends."""
        self._back.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def committed(self) -> set[bytes]:
        return {body for body, (verdict, _sent) in self.sent.items() if verdict == "commit"}

    def may_come(self) -> set[bytes]:
        return self.committed() | {body for body, verdict in self.failed.items() if verdict == "commit"}

    def commit_again(self, broker: str, messages: Iterable[Received]) -> None:
        """Say once more of every message that came that it is committed.

        The broker takes that word where it names the half exactly: for a commit that no check was needed for.
        """
        sent = [message for message in messages if message.body in self.sent]
        assert 0 in {probe.ask(broker, END_TRANSACTION, self._end(message))[0] for message in sent}

    def _end(self, message: Received) -> dict[str, str]:
        return {
            "producerGroup": self._producer.group,
            "tranStateTableOffset": str(self.sent[message.body][1].queue_offset),
            "commitLogOffset": str(message.prepared_transaction_offset),
            "commitOrRollback": str(COMMIT),
            "fromTransactionCheck": "false",
            "msgId": message.msg_id or "",
            "transactionId": message.transaction_id or "",
        }

    def _run(self) -> None:
        more = 0
        for number in count():
            if more == _MORE:
                return
            state, verdict = _KINDS[number % len(_KINDS)]
            body = f"{verdict}-{number}".encode()
            try:
                sent = self._producer.transact(Outgoing(self._topic, body, keys=verdict), state)
            except PeerError:
                self.failed[body] = verdict
            else:
                self.sent[body] = verdict, sent
                more += self._back.is_set()
