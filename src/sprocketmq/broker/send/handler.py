# cython: annotation_typing=False
"""Sends: SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE. One road, from the frame to the log to the answer:

    frame -> SendRequest -> admitted? -> properties -> put | put_batch | special -> answer -> [wait for the disk]

admitted    a topic that has been sent to is found in `AdmittedTopics`; any other send asks `SendAdmission`, which
            refuses or admits
properties  one walk tells the unique key, whether the sender waits for the disk, and whether the message is special
answer      made at once; where it waits, `Acks` keeps it until the message is safe, on disk or with replicas

Every message passes here, so this is compiled. What is rare is Python and is called from here: the admission, the
interceptors of special messages, and the making of a unique key for a message that has none.
"""

from __future__ import annotations

from typing import Any

try:
    import cython
except ImportError:
    from sprocketmq.hot import shadow as cython

from sprocketmq.broker.config import BrokerConfig
from sprocketmq.broker.metrics.counter import SMALL_BYTES, Counter
from sprocketmq.broker.send.admission import SendAdmission
from sprocketmq.broker.send.admitted_topics import TopicAdmission
from sprocketmq.broker.send.answer import SendAnswers
from sprocketmq.broker.send.durable_acks import Acks
from sprocketmq.broker.send.message import added_properties
from sprocketmq.broker.send.properties import SentProperties
from sprocketmq.broker.send.refusals import not_stored
from sprocketmq.broker.send.special import SpecialSends, check_batch
from sprocketmq.broker.send.waiting_answers import WaitingAnswers
from sprocketmq.broker.settings import Settings
from sprocketmq.codes import FLAG_ONEWAY, RequestCode, ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.record.ids import UniqueIds
from sprocketmq.protocol.record.properties import MSG_REGION, TRACE_ON, encode_properties
from sprocketmq.protocol.requests.send import SendRequest, decode_send
from sprocketmq.remoting.handlers import ProcessorTable, refusal
from sprocketmq.store.log.append import PutResult
from sprocketmq.store.store import MessageStore

if not cython.compiled:
    from sprocketmq.broker.send.properties import shared, stored
    from sprocketmq.protocol.record.sysflag import TRANSACTION_MASK

_ONEWAY = int(FLAG_ONEWAY)
_SMALL_BYTES = SMALL_BYTES


class SendHandler:
    def __init__(
        self, settings: Settings, store: MessageStore, admission: SendAdmission, special: SpecialSends, acks: Acks,
        unique_ids: UniqueIds,
    ) -> None:  # fmt: skip
        self.admission = admission
        self.special = special
        self._admitted = admission.admitted
        self._settings = settings
        self._store = store
        self._appender = store.appender
        self._acks = acks
        self._waiting: WaitingAnswers | None = None
        self._unique_ids = unique_ids
        #: What `put` finds in the message at hand. One will do for all: a send runs to its end on the loop before the
        #: next begins, and only what it has read before the store is called is used after it.
        self._found = SentProperties()
        self._id_prefix = ""
        self.configure(settings.current)
        settings.on_change.append(self.configure)
        self.follow_acks()
        acks.on_change.append(self.follow_acks)

    def follow_acks(self) -> None:
        """Whether senders wait changes with the role of the broker."""
        self._waiting = self._acks.answers if self._acks.waits else None

    def add_to(self, table: ProcessorTable) -> None:
        codes = (RequestCode.SEND_MESSAGE, RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        table.add(codes, self.send)

    def set_store_host(self, store_host: bytes) -> None:
        """What message ids begin with."""
        self._id_prefix = store_host.hex().upper()
        self.configure(self._settings.current)

    def configure(self, config: BrokerConfig) -> None:
        """Encode once what the broker adds to every message and to every answer."""
        added = added_properties(config)
        self._told = {MSG_REGION: added[MSG_REGION], TRACE_ON: added[TRACE_ON]}
        self._added = encode_properties(added).encode()
        self._answers = SendAnswers(self._id_prefix, config.region_id, config.trace_on)

    def send(self, connection: Any, request: Command) -> Any:
        sent = decode_send(request)
        try:
            admission = self._admitted.topics.get(sent.topic) if self._admitted.is_open else None
            if admission is None:
                admission = self.admission.admit(connection, request, sent)
            if admission.takes is not None:
                return admission.takes(connection, request)
            if sent.queue_id < 0 or sent.queue_id >= admission.queues:
                sent.queue_id = self.admission.choose_queue(sent, admission.queues)
            answer = self.put(connection, request, sent, admission)
        except RequestRefused as refused:  # even a refusal tells the region, and whether traces are wanted
            reply = refusal(request, refused, connection)
            reply.ext_fields = dict(self._told)
            return reply
        if admission.is_new:
            return self.admission.announce_first(connection, request, sent.topic, answer)
        return answer

    def put(self, connection: Any, request: Command, sent: SendRequest, admission: TopicAdmission) -> Any:
        found = self._found
        found.read(sent.properties)
        special = found.special or admission.special or sent.sys_flag & TRANSACTION_MASK != 0
        if sent.batch:
            if special:
                check_batch(sent)
        elif not request.body:
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "the message has no body")
        elif special:
            return self.put_special(connection, request, sent)
        key, added, key_at, key_end, waits = sent.properties, self._added, found.key_at, found.key_end, found.waits
        if key_end == 0 and not sent.batch:
            key = self._unique_ids.next().encode()
            key_at, key_end = 0, len(key)
            added = b"UNIQ_KEY\x01" + key + b"\x02" + added
        result = self.append(connection, request, sent, added)
        if result.status != 0:
            raise not_stored(self._store, result.status)
        counter = admission.counters[sent.queue_id]
        counter.count += result.count
        counter.size += result.size
        if result.size > _SMALL_BYTES * result.count:
            admission.large.note(result.size // result.count, result.count)
        frame = self._answers.encode(request, sent.queue_id, result, key, key_at, key_end, None)
        return self.when_safe(connection, request, result, counter, frame) if waits else frame

    def append(self, connection: Any, request: Command, sent: SendRequest, added: bytes) -> PutResult:
        if sent.batch:
            return self._appender.put_batch(
                sent.topic, sent.queue_id, sent.sys_flag, request.body, shared(sent.properties, added),
                sent.born_timestamp, connection.peer.packed, sent.reconsume_times,
            )  # fmt: skip
        return self._appender.put(
            sent.topic, sent.queue_id, sent.flag, sent.sys_flag, request.body, stored(sent.properties, added),
            sent.born_timestamp, connection.peer.packed, sent.reconsume_times, 0,
        )  # fmt: skip

    def put_special(self, connection: Any, request: Command, sent: SendRequest) -> Any:
        result, counter, key, recall_handle, waits = self.special.put(connection, request, sent)
        frame = self._answers.encode(request, sent.queue_id, result, key, 0, len(key), recall_handle)
        return self.when_safe(connection, request, result, counter, frame) if waits else frame

    def when_safe(self, connection: Any, request: Command, result: PutResult, counter: Counter, frame: bytes) -> Any:
        """The answer, or None while it waits for the disk. Nobody waits for the answer of a oneway send."""
        if self._waiting is None or request.flag & _ONEWAY:
            return frame
        waiting = self._waiting.add(result.commit_offset + result.size, connection, request, frame, counter)
        if waiting >= self._admitted.waiting_limit:
            self._admitted.is_open = False
        return None
