"""Answers that promise what was just written: they go out when the log is as safe as flush mode and role say.

Whoever hears that a transaction was committed, a message sent back, a timer recalled or a POP message acknowledged
forgets what it knew of it. Under SYNC_FLUSH the record that says so must be on disk by then, and under a synchronous
role with the replicas.
"""

from __future__ import annotations

from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import encode_frame
from sprocketmq.remoting import Connection, Reply
from sprocketmq.store.store import MessageStore


class SafeAnswers:
    def __init__(self, store: MessageStore, acks: Acks) -> None:
        self._store = store
        self._acks = acks

    def reply(self, connection: Connection, request: Command, answer: Command | None = None) -> Reply:
        """`answer`, or plain success, now or when everything that is written so far is safe."""
        answer = request.reply() if answer is None else answer
        end = self._store.log.max_offset
        if not self._acks.waits or request.is_oneway or self._acks.is_safe(end):
            return answer
        self._acks.add(end, connection, request, encode_frame(answer))
        return None

    def send(self, connection: Connection, request: Command, answer: Command) -> None:
        """The same for an answer that comes by itself, as that of a request that waited."""
        reply = self.reply(connection, request, answer)
        if reply is not None:
            connection.reply(reply, request, waited=True)
