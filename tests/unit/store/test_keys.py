"""The broker, the view, a check and a rebuild agree about the keys of a message: a blank parts them, nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.store.support import open_store, put

from sprocketmq.protocol.record.properties import split_keys
from sprocketmq.store import scan
from sprocketmq.store.offline.rebuild import Rebuild
from sprocketmq.store.offline.verify import verify
from sprocketmq.store.view import Selection, StoreView
from sprocketmq.store.view.sizes import Sizes

FOREVER = 1 << 62
#: A few entries do not tell a reader how large the files of the index are.
SIZES = Sizes(hash_slots=20, index_entries=50)

#: The value of KEYS, and the keys in it. Python takes all of these for white space, RocketMQ only the blank.
CASES = [
    ("a\tb c", ["a\tb", "c"]),
    ("  one  two ", ["one", "two"]),
    ("wide\u3000gap no\u00a0break", ["wide\u3000gap", "no\u00a0break"]),
    ("line\nfeed", ["line\nfeed"]),
    (" ", []),
]


@pytest.mark.parametrize(("text", "keys"), CASES)
def test_only_a_blank_parts_keys(text: str, keys: list[str]) -> None:
    assert split_keys(text) == keys


@pytest.mark.parametrize(("text", "keys"), CASES)
@pytest.mark.parametrize("rebuilt", [False, True], ids=["as written", "rebuilt"])
def test_every_reader_finds_the_same_keys(tmp_path: Path, text: str, keys: list[str], rebuilt: bool) -> None:
    store = open_store(tmp_path)
    put(store, body=b"first", KEYS=text, UNIQ_KEY="U1")
    put(store, body=b"second", KEYS="other", UNIQ_KEY="U2")
    store.close()
    if rebuilt:
        Rebuild(tmp_path, SIZES).run()
    view = StoreView(tmp_path, SIZES)
    assert list(verify(view)) == []
    found = {key: [record.body for record in view.find_key("T", key)] for key in {*text.split(), *keys}}
    assert found == {key: [b"first"] if key in keys else [] for key in found}
    scanned = {
        key: scan(tmp_path, selection=Selection(keys=frozenset({key}))).read_all()["body"].to_pylist() for key in found
    }
    assert scanned == found
    store = open_store(tmp_path)
    assert {key: [record.body for record in store.reader.query("T", key, 9, 0, FOREVER)] for key in found} == found
    store.close()
