"""Clients that live inside a peer: producers, consumers and the admin client, the same for Java and Go."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Self

from tests.peers.lines import Event, LinePeer, PeerError
from tests.peers.messages import Outgoing, Queue, Received, Sent, Subscription
from tests.peers.process import eventually

Options = Mapping[str, Any]
SendMode = Literal["sync", "async", "oneway"]
LocalState = Literal["COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"]


class PeerClient:
    """A client by its id; leaving its `with` block shuts it down."""

    KIND = ""

    def __init__(self, peer: LinePeer, group: str, nameserver: str, **arguments: Any) -> None:
        self.peer, self.group = peer, group
        self.id, self.inbox = peer.inbox(f"{self.KIND}-")
        self.is_open = True
        self.client_id: str | None = peer.call(
            self.KIND, client=self.id, group=group, nameserver=nameserver, **arguments
        )

    def call(self, method: str, *arguments: Any, types: Sequence[str] | None = None, wait: float = 60) -> Any:
        """Any public method of the real client by its name, with JSON arguments; `types` tells overloads apart."""
        plain = [argument.to_json() if isinstance(argument, Queue) else argument for argument in arguments]
        return self._op("call", method=method, args=plain, types=types, wait=wait)

    def script(self, **script: Any) -> None:
        """Change how the client's listener behaves from now on."""
        self._op("script", script=script)

    def shutdown(self) -> None:
        if self.is_open and self.peer.process.running:
            self._op("shutdown")
        self.is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    def _op(self, op: str, *, wait: float = 60, **arguments: Any) -> Any:
        return self.peer.call(op, wait=wait, client=self.id, **arguments)


class Producer(PeerClient):
    """Sends; a transactional one also answers checks, by default with UNKNOW."""

    KIND = "producer"

    def send(self, message: Outgoing, **how: Any) -> Sent:
        return self.send_all([message], **how)[0]

    def send_all(
        self,
        messages: Iterable[Outgoing],
        mode: SendMode = "sync",
        *,
        queue: Queue | None = None,
        shard: str | None = None,
        timeout: float = 30,
    ) -> list[Sent]:
        """One send each, one result each; oneway gives none.  `shard` picks the queue by its hash."""
        return self._send(messages, timeout, mode=mode, queue=queue and queue.to_json(), shard=shard)

    def send_batch(self, messages: Iterable[Outgoing], *, queue: Queue | None = None, timeout: float = 30) -> Sent:
        """All of them in one batch frame."""
        return self._send(messages, timeout, mode="sync", batch=True, queue=queue and queue.to_json())[0]

    def request(self, message: Outgoing, timeout: float = 30) -> Received:
        """Send and wait for the reply of whoever consumes it."""
        reply = self._op("request", message=message.to_json(), timeout=int(timeout * 1000), wait=timeout + 30)
        return Received.from_json(reply)

    def transact(self, message: Outgoing, state: LocalState) -> Sent:
        """Send a half message; the local transaction then ends in `state`."""
        return Sent.from_json(self._op("transact", message=message.to_json(), state=state))

    def answer_checks(self, *states: LocalState, by_key: Mapping[str, Sequence[LocalState]] | None = None) -> None:
        """Script the answers to the broker's checks: each list is used up from its front, its last state stays."""
        checks = {key: list(answers) for key, answers in (by_key or {}).items()}
        self.script(check=list(states) or None, checks=checks)

    def wait_checks(self, number: int, timeout: float = 120) -> list[Received]:
        events = self.inbox.wait("check", lambda seen: len(seen) >= number, timeout)
        return [Received.from_json(event["message"]) for event in events]

    def _send(self, messages: Iterable[Outgoing], timeout: float, **how: Any) -> list[Sent]:
        plain = [message.to_json() for message in messages]
        results = self._op("send", messages=plain, timeout=int(timeout * 1000), wait=timeout + 60, **how)
        return [Sent.from_json(result) for result in results]


class PushConsumer(PeerClient):
    """Reports each message it is given.  `script` keys: failTimes, sleepMs, delayLevel, suspendMs, throw."""

    KIND = "push_consumer"

    def received(self) -> list[Received]:
        """What came so far."""
        return _messages(self.inbox.all("message"))

    def wait(self, number: int, timeout: float = 120) -> list[Received]:
        """All that came, as soon as there are `number` of them or more."""
        return self.wait_until(lambda messages: len(messages) >= number, timeout)

    def wait_bodies(self, expected: Iterable[bytes], timeout: float = 120) -> list[Received]:
        """All that came, as soon as every one of these bodies was among them."""
        wanted = set(expected)
        return self.wait_until(lambda messages: wanted <= {message.body for message in messages}, timeout)

    def wait_until(self, content: Callable[[list[Received]], bool], timeout: float = 120) -> list[Received]:
        return _messages(self.inbox.wait("message", lambda events: content(_messages(events)), timeout))

    def assigned(self) -> set[Queue]:
        """The queues the last rebalance gave it, its retry topic's among them."""
        return {Queue.from_json(queue) for queue in self._op("assigned")}

    def reply_with(self, producer: Producer, body: bytes) -> None:
        """Answer each request with `body` from now on."""
        self.script(replyWith=producer.id, reply=b64encode(body).decode())


class LitePullConsumer(PeerClient):
    """DefaultLitePullConsumer: subscribe (at construction) or assign, poll, seek, commit."""

    KIND = "lite_pull_consumer"

    def poll(self, timeout: float = 5) -> list[Received]:
        return [
            Received.from_json(m) for m in self.call("poll", int(timeout * 1000), types=["long"], wait=timeout + 30)
        ]

    def poll_up_to(self, queue: Queue, end: int, timeout: float = 120) -> None:
        """Polls until the message before `end` has come.

        A seek before that races with the pull that `assign` began: the client may still hand out what it brings.
        """
        limit = time.monotonic() + timeout
        while not any(one.queue_offset >= end - 1 for one in self.poll(1)):
            assert time.monotonic() < limit, f"{queue} was not read to {end} within {timeout} s"

    def queues(self, topic: str) -> list[Queue]:
        return sorted(map(Queue.from_json, self.call("fetchMessageQueues", topic)), key=lambda q: q.queue_id)

    def assign(self, *queues: Queue) -> None:
        self.call("assign", [queue.to_json() for queue in queues])

    def assigned(self) -> set[Queue]:
        return {Queue.from_json(queue) for queue in self.call("assignment")}

    def seek(self, queue: Queue, offset: int) -> None:
        self.call("seek", queue, offset)

    def seek_to_begin(self, queue: Queue) -> None:
        self.call("seekToBegin", queue)

    def seek_to_end(self, queue: Queue) -> None:
        self.call("seekToEnd", queue)

    def offset_for_timestamp(self, queue: Queue, timestamp_ms: int) -> int:
        return int(self.call("offsetForTimestamp", queue, timestamp_ms))

    def commit(self) -> None:
        self.call("commitSync")

    def committed(self, queue: Queue) -> int:
        return int(self.call("committed", queue))


class PullConsumer(PeerClient):
    """DefaultMQPullConsumer: pulls from queues by offset, and asks for offsets and messages."""

    KIND = "pull_consumer"

    def queues(self, topic: str) -> list[Queue]:
        found = map(Queue.from_json, self.call("fetchSubscribeMessageQueues", topic))
        return sorted(found, key=lambda queue: (queue.broker_name, queue.queue_id))

    def pull(self, queue: Queue, offset: int, tags: str = "*", limit: int = 32) -> Mapping[str, Any]:
        """{"pullStatus", "nextBeginOffset", "minOffset", "maxOffset", "messages"}, the last as `Received`."""
        types = ["MessageQueue", "String", "long", "int"]
        result: dict[str, Any] = self.call("pull", queue, tags, offset, limit, types=types)
        found = [Received.from_json(message) for message in result.pop("msgFoundList", None) or ()]
        return {**result, "messages": found}

    def min_offset(self, queue: Queue) -> int:
        return int(self.call("minOffset", queue))

    def max_offset(self, queue: Queue) -> int:
        return int(self.call("maxOffset", queue))

    def search_offset(self, queue: Queue, timestamp_ms: int) -> int:
        return int(self.call("searchOffset", queue, timestamp_ms))

    def earliest_store_time(self, queue: Queue) -> int:
        return int(self.call("earliestMsgStoreTime", queue))

    def view_message(self, topic: str, message_id: str) -> Received:
        return Received.from_json(self.call("viewMessage", topic, message_id))

    def query_message(self, topic: str, key: str, begin_ms: int = 0, end_ms: int = 2**62) -> list[Received]:
        result = self.call("queryMessage", topic, key, 64, begin_ms, end_ms)
        return [Received.from_json(message) for message in result["messageList"]]

    def wait_visible(self, topic: str, key: str, count: int = 1) -> None:
        """Until `key` finds so many messages: Apache's queues and its index follow the log, and a moment later."""
        eventually(lambda: self._found(topic, key) >= count, f"{count} messages with the key {key}")

    def _found(self, topic: str, key: str) -> int:
        try:
            return len(self.query_message(topic, key))
        except PeerError:
            return 0


class Admin(PeerClient):
    """DefaultMQAdminExt: every method by `call`, results as JSON."""

    KIND = "admin"

    def track(self, topic: str, message_id: str) -> dict[str, str]:
        """What became of a message, by consumer group: CONSUMED, NOT_CONSUME_YET, UNKNOWN ..."""
        found = self._op("track", topic=topic, message=message_id)
        return {each["consumerGroup"]: each["trackType"] for each in found}


def _messages(events: Iterable[Event]) -> list[Received]:
    return [Received.from_json(event["message"]) for event in events]


def subscriptions_json(subscriptions: Iterable[Subscription | str]) -> list[dict[str, Any]]:
    """A bare topic stands for all of its messages."""
    named = (Subscription(one) if isinstance(one, str) else one for one in subscriptions)
    return [one.to_json() for one in named]
