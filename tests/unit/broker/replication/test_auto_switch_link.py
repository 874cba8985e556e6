"""The master's side of the auto-switch stream, against a peer that has no good in mind."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.unit.broker.support import make_settings
from tests.unit.store.support import open_store

from sprocketmq.broker.replication.auto_switch_link import AutoSwitchLink
from sprocketmq.broker.replication.epoch_store import EpochStore
from sprocketmq.broker.replication.slave_link import SlaveLink
from sprocketmq.protocol.ha.epochs import Epoch
from sprocketmq.protocol.ha.switch_stream import MAX_EPOCHS, Handshake, encode_handshake
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.replica import Replica


class Owner:
    def __init__(self) -> None:
        self.gone = asyncio.Event()

    def admit(self, _link: SlaveLink) -> str | None:
        return None

    def reported(self, _link: SlaveLink) -> None:
        return

    def closed(self, _link: SlaveLink) -> None:
        self.gone.set()


class Unread:
    """A transport whose peer reads nothing."""

    def __init__(self, link: AutoSwitchLink) -> None:
        self.link, self.size, self.high = link, 0, 0

    def set_write_buffer_limits(self, high: int) -> None:
        self.high = high

    def write(self, data: bytes) -> None:
        self.size += len(data)
        if self.size > self.high:
            self.link.pause_writing()

    def get_extra_info(self, _name: str) -> Any:
        return ("127.0.0.1", 4711)

    def is_closing(self) -> bool:
        return False

    def abort(self) -> None:
        self.link.connection_lost(None)


async def test_handshakes_whose_answers_are_not_read_end_the_link(tmp_path: Path) -> None:
    """Each is answered with up to a thousand epochs: a few bytes of a peer cost a thousand times as many here."""
    owner, store, epochs = Owner(), open_store(tmp_path / "store"), EpochStore(Disk(), tmp_path / "epochs")
    for number in range(1, MAX_EPOCHS + 1):
        epochs.list.add(Epoch(number, number))
    link = AutoSwitchLink(make_settings(tmp_path), store, Replica(store, Disk()), owner, epochs, lambda: 0)
    transport: Any = Unread(link)
    link.connection_made(transport)
    link.data_received(encode_handshake(Handshake(2)) * 10_000)
    assert owner.gone.is_set()
    assert transport.size < 256 << 10
    store.close()
