"""The queues' part of a check: each record's entry, and entries that belong to no record."""

from __future__ import annotations

from collections.abc import Iterator

from sprocketmq.errors import StoreCorrupt
from sprocketmq.protocol.record.record import Record
from sprocketmq.store.offline.verify_fast import QueueAgreement, QueueAgreements
from sprocketmq.store.offline.verify_findings import Finding, Severity
from sprocketmq.store.queue.ext_format import is_ext_address
from sprocketmq.store.queue.format import ENTRY_SIZE, QueueEntry
from sprocketmq.store.view.configs import topic_names
from sprocketmq.store.view.queue import QueueView
from sprocketmq.store.view.store import StoreView

#: Entries that are put at hand at once, and how many queues may have some there: each is a map of its own.
_RUN_ENTRIES = 8192
_QUEUES_AT_HAND = 1024


class QueueCheck:
    """Fed with the records that no agreement passed over, in log order; then asked for what is left over."""

    def __init__(self, view: StoreView) -> None:
        self._view = view
        self.agreements: QueueAgreements = {}
        self._at_hand: list[QueueAgreement] = []
        self._missing: dict[tuple[str, int], tuple[int, int]] = {}
        self._known = _known_topics(view)

    def check(self, record: Record, expected: QueueEntry) -> Iterator[Finding]:
        """The record's entry is the next of its queue, and says where the record is."""
        if self._view.is_deleted(record):
            return
        key, offset = (record.topic, record.queue_id), record.queue_offset
        queue, agreement = self._view.queues.get(key), self.agreement(*key)
        stored = self._plain(record, queue.stored(offset)) if queue is not None else None
        due = offset if agreement.due < 0 else agreement.due
        if queue is not None and offset > due:
            yield from self._unclaimed(queue, due, min(offset, self._stored_end(queue)))
        if offset < due and stored != expected:
            yield self._record_finding(record, f"its queue offset {offset} was used before")
            return
        agreement.due = offset + 1
        if queue is None or stored is None or not stored.is_written:
            self._count_missing(key, offset)
        elif stored != expected and not self._made_anew(record, stored):
            path, at = queue.place(offset)
            yield Finding(path, at, f"entry {offset} is {_text(stored)}, but the log calls for {_text(expected)}")

    def agreement(self, topic: str, queue_id: int) -> QueueAgreement:
        """Where a queue is on its way through the log."""
        of_topic = self.agreements.setdefault(topic.encode(), {})
        if queue_id not in of_topic:
            of_topic[queue_id] = QueueAgreement(topic, queue_id)
        return of_topic[queue_id]

    def fetch(self, agreement: QueueAgreement, offset: int) -> None:
        """Put the queue's entries from `offset` on at hand."""
        if len(self._at_hand) >= _QUEUES_AT_HAND:
            for other in self._at_hand:
                other.place(None, 0, 0)
            self._at_hand.clear()
        queue = self._view.queues.get((agreement.topic, agreement.queue_id))
        run = queue.stored_run(offset, _RUN_ENTRIES) if queue is not None else memoryview(b"")
        agreement.place(run, offset, offset + len(run) // ENTRY_SIZE)
        self._at_hand.append(agreement)

    def _plain(self, record: Record, stored: QueueEntry | None) -> QueueEntry | None:
        """The entry with the tag's hash in place of the address of the ConsumeQueueExt unit that holds it."""
        if stored is None or not is_ext_address(stored.tags_code):
            return stored
        unit = self._view.ext_unit(record.topic, record.queue_id, stored.tags_code)
        return stored if unit is None else stored._replace(tags_code=unit.tags_code)

    def _count_missing(self, key: tuple[str, int], offset: int) -> None:
        if self._known is not None and key[0] not in self._known and key not in self._view.queues:
            return  # the topic was deleted; its records stay in the log until they expire
        first, count = self._missing.get(key, (offset, 0))
        self._missing[key] = first, count + 1

    def _made_anew(self, record: Record, stored: QueueEntry) -> bool:
        """Whether the topic was deleted and made again, so that a later record has this one's queue offset."""
        if stored.commit_offset <= record.commit_offset:
            return False
        try:
            later = self._view.log.record(stored.commit_offset, stored.size)
        except StoreCorrupt:
            return False
        place = record.topic, record.queue_id, record.queue_offset
        return (later.topic, later.queue_id, later.queue_offset) == place

    def rest(self) -> Iterator[Finding]:
        """Entries that were never written, and entries after the last that the log calls for."""
        for (topic, queue_id), (first, count) in sorted(self._missing.items()):
            queue = self._view.queues.get((topic, queue_id))
            path, at = queue.place(first) if queue else (f"consumequeue/{topic}/{queue_id}", 0)
            severity = Severity.RECOVERABLE if self._view.crashed else Severity.ERROR
            yield Finding(path, at, f"{count} messages of the log have no entry, the first is {first}", severity)
        for key, queue in sorted(self._view.queues.items()):
            yield from self._check_files(queue)
            due = self.agreement(*key).due
            yield from self._unclaimed(queue, queue.min_offset if due < 0 else due, self._stored_end(queue))

    def _check_files(self, queue: QueueView) -> Iterator[Finding]:
        for number, file in enumerate(queue.files):
            if file.size != queue.file_size:
                severity = Severity.RECOVERABLE if file.size == 0 and self._view.crashed else Severity.ERROR
                what = f"the file has {file.size} bytes, not {queue.file_size}"
                yield Finding(file.path, file.size, what, severity)
            if number and file.base != queue.files[number - 1].base + queue.file_size:
                yield Finding(file.path, 0, "the file before this one is missing")

    def _unclaimed(self, queue: QueueView, begin: int, end: int) -> Iterator[Finding]:
        """Written entries in [begin, end) that no record of the log calls for."""
        for offset in range(begin, end):
            stored = queue.stored(offset)
            if stored is None or not stored.is_written or stored.is_filler:
                continue
            beyond = stored.commit_offset >= self._view.log_end and self._view.crashed
            path, at = queue.place(offset)
            what = f"entry {offset} is {_text(stored)}, but no whole record of this queue is there"
            yield Finding(path, at, what, Severity.RECOVERABLE if beyond else Severity.ERROR)

    def _stored_end(self, queue: QueueView) -> int:
        """After the last entry that any file could hold; what follows the first unwritten one is judged too."""
        if not queue.files:
            return 0
        last = queue.files[-1]
        return queue.last_written((last.base + last.size) // ENTRY_SIZE) + 1

    def _record_finding(self, record: Record, what: str) -> Finding:
        file = self._view.log.file_at(record.commit_offset)
        assert file is not None
        return Finding(file.path, record.commit_offset - file.base, what)


def _known_topics(view: StoreView) -> set[str] | None:
    try:
        return topic_names(view.source)
    except StoreCorrupt:  # a finding of the config's part
        return None


def _text(entry: QueueEntry) -> str:
    return f"{{{entry.commit_offset}, {entry.size}, {entry.tags_code}}}"
