"""Emptying the log of a slave that its master has left behind.

A master cleans its oldest files. A slave whose log ends before them cannot go on: nobody has what comes next. It begins
anew, as one that has nothing. All that it had is older than anything its master keeps. So does one whose epochs tell
that it shares nothing with its master any more: what it had is its own then. The log files are kept in `quarantine/`,
moved and not copied, for they may be many.

The order is: checkpoint, queues, index, log from its last file to its first. A crash in between leaves a shorter log,
from which recovery makes queues and index again: the slave can follow as little as before, and this is done again.
"""

from __future__ import annotations

import logging
from pathlib import Path

from sprocketmq.store.files.files import Files, sync_parents
from sprocketmq.store.files.layout import file_name
from sprocketmq.store.log_truncation import lower_checkpoint, place_end
from sprocketmq.store.store import MessageStore

_log = logging.getLogger("sprocketmq.store.log_reset")


def empty_log(store: MessageStore, files: Files, reason: str) -> Path:
    """Leave a log that begins nowhere, durably; where its files are now. Raises OSError, FlushFailed."""
    end = store.log.max_offset
    folder = store.layout.quarantine / f"behind-{file_name(end)}"
    with store.flusher.flushing, store.queue_flusher.flushing:
        store.flusher.flush()
        if store.failure is not None:
            raise store.failure
        files.make_dirs(folder)
        sync_parents(files, folder, store.layout.root)
        lower_checkpoint(store, files, 0, 0)
        _drop_queues_and_index(store)
        store.log.close()
        store.log.move_to(folder)
        store.deleted.settle(end, end)
        place_end(store, 0, 0)
    _log.warning("the log, which ended at %d, begins anew: %s; its files are in %s", end, reason, folder)
    return folder


def _drop_queues_and_index(store: MessageStore) -> None:
    for topic in store.queues.topics():
        store.queues.forget(topic)
        if store.exts is not None:
            store.exts.forget(topic)
    if store.index is not None:
        for name in list(store.index.names):
            store.index.remove(name)
