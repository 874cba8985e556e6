from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.files import table_text
from sprocketmq.store.files.config_files import SavedOffsets, consumer_offsets_file
from sprocketmq.store.files.disk import Disk
from sprocketmq.store.files.table_text import TableText

FILE = consumer_offsets_file(Disk(), Path("/nowhere"))
KEYS = [f"T{number}@G" for number in range(7)]


class Counted:
    """A table whose encodings are counted."""

    def __init__(self) -> None:
        self.table: dict[str, dict[int, int]] = {}
        self.encoded = 0
        self.text: TableText[dict[int, int]] = TableText(self._encode, self.table.get)

    def _encode(self, entries: dict[str, dict[int, int]]) -> bytes:
        self.encoded += len(entries)
        return FILE.encode(SavedOffsets(offset_table=entries))

    def whole(self, version: DataVersion, changed: set[str]) -> bytes:
        self.text.note(changed)
        return self.text.text(FILE.encode(SavedOffsets(data_version=version)))


@given(st.lists(st.lists(st.tuples(st.sampled_from(KEYS), st.integers(0, 3), st.integers(-1, 99))), max_size=6))
def test_the_text_is_that_of_the_whole_table(rounds: list[list[tuple[str, int, int]]]) -> None:
    counted, before = Counted(), table_text.PIECE
    table_text.PIECE = 3
    try:
        for number, changes in enumerate(rounds):
            for key, queue_id, offset in changes:
                if offset < 0:
                    counted.table.pop(key, None)
                else:
                    counted.table.setdefault(key, {})[queue_id] = offset
            version = DataVersion(counter=number)
            text = counted.whole(version, {key for key, _, _ in changes})
            found = FILE.decode(text)
            assert found == SavedOffsets(offset_table=counted.table, data_version=version)
            in_its_order = {key: counted.table[key] for key in found.offset_table}
            assert text == FILE.encode(SavedOffsets(offset_table=in_its_order, data_version=version))
    finally:
        table_text.PIECE = before


def test_only_what_changed_is_encoded_again() -> None:
    counted = Counted()
    counted.table.update({f"T{number}@G": {0: 1} for number in range(100_000)})
    counted.whole(DataVersion(), set(counted.table))
    before, counted.encoded = counted.encoded, 0
    assert before == 100_000
    counted.table["T5@G"][0] = 2
    assert b'"T5@G":{0:2' in counted.whole(DataVersion(), {"T5@G"})
    assert counted.encoded <= table_text.PIECE


@pytest.mark.parametrize("end", range(12))
def test_what_was_noted_for_a_text_that_failed_is_in_the_next(end: int) -> None:
    """Wherever it failed: at a look into the table, or at the encoding."""
    counted, calls = Counted(), count()
    counted.table.update({key: {0: 1} for key in KEYS[:4]})
    counted.whole(DataVersion(), set(KEYS[:4]))
    del counted.table[KEYS[0]]
    counted.table.update({key: {0: 2} for key in KEYS[3:]})

    def fail_at(number: int) -> None:
        if number == end:
            raise MemoryError

    def find(key: str) -> dict[int, int] | None:
        fail_at(next(calls))
        return counted.table.get(key)

    def encode(entries: dict[str, dict[int, int]]) -> bytes:
        fail_at(next(calls))
        return FILE.encode(SavedOffsets(offset_table=entries))

    counted.text._find, counted.text._encode = find, encode
    with pytest.raises(MemoryError):
        counted.whole(DataVersion(), {KEYS[0], *KEYS[3:]})
    assert FILE.decode(counted.whole(DataVersion(), set())).offset_table == counted.table
