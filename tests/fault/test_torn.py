"""The last write torn at every byte; a bit flipped in every field; pages that never came."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.disk import SimDisk
from tests.fault.images import Image, copy_of, make_image
from tests.fault.ledger import Ledger, Place, TickingClock, check, check_serves, everything, open_store
from tests.fault.source import places_in, view_of

from sprocketmq.protocol.record.properties import encode_properties
from sprocketmq.protocol.record.record import Record


@pytest.fixture(scope="module")
def killed() -> Image:
    """Nothing is vouched for: the checkpoint is that of an empty store."""
    return make_image(6, clean=False, checkpoint=False)


@pytest.fixture(scope="module")
def vouched() -> Image:
    return make_image(6, clean=False)


@pytest.fixture(scope="module")
def stopped() -> Image:
    return make_image(6, clean=True)


def properties_length(ledger: Ledger, place: Place) -> int:
    key = next(key for key, where in ledger.keys.items() if where == place)
    return len(f"KEYS\x01{key}\x02TAGS\x01even\x02")


def flip(image: Image, disk: SimDisk, offset: int, bit: int) -> None:
    path, at = image.log_file(offset), offset % image.file_size
    disk.damage(path, at, bytes([disk.read_bytes(path)[at] ^ 1 << bit]))


@pytest.mark.parametrize("fill", [b"\0", b"\xff", b"\xa5"])
def test_a_write_torn_at_any_byte_loses_that_record_alone(killed: Image, fill: bytes) -> None:
    last = killed.places[-1]
    size = killed.size_of(last)
    for cut in range(size):
        disk = killed.disk.copy()
        disk.damage(killed.log_file(last.commit_offset), last.commit_offset + cut, fill * (size - cut))
        shown = places_in(view_of(disk))
        store = open_store(disk, killed.config, TickingClock(killed.now_ms))
        found = everything(store)
        assert found == shown
        kept = {place: killed.ledger.acknowledged[place] for place in killed.places[:-1]}
        if last in found:  # no checksum covers the properties, unless the broker is told to write one
            assert fill != b"\0", cut
            assert cut >= size - properties_length(killed.ledger, last) - 2
            kept[last] = killed.ledger.acknowledged[last]
        assert found == kept, cut
        store.abandon()


def test_with_the_property_checksum_no_flipped_bit_is_served() -> None:
    """Header, topic and properties included; a flip in the checksum's own name only makes it a property like others."""
    image = make_image(4, clean=False, enabled_append_prop_crc=True)
    hit = image.places[1]
    whole = open_store(image.disk.copy(), image.config).reader.record_at(hit.commit_offset)
    assert whole is not None
    for at in range(image.size_of(hit)):
        disk = image.disk.copy()
        flip(image, disk, hit.commit_offset + at, at % 8)
        store = open_store(disk, image.config, TickingClock(image.now_ms))
        record = store.reader.record_at(hit.commit_offset)
        if record is not None:
            assert record.replace(properties=record.properties[:-20]) == whole.replace(
                properties=whole.properties[:-20]
            ), at
        assert set(everything(store)) >= set(image.places) - {hit}, at
        store.abandon()


@pytest.mark.parametrize("kind", ["vouched", "stopped"])
def test_a_flipped_bit_costs_at_most_the_record_it_hit(kind: str, request: pytest.FixtureRequest) -> None:
    """And no consumer ever gets a wrong body. Flips in a header may go unseen: RocketMQ's checksum covers the body."""
    image: Image = request.getfixturevalue(kind)
    hit = image.places[2]
    for at in range(image.size_of(hit)):
        disk = image.disk.copy()
        flip(image, disk, hit.commit_offset + at, at % 8)
        store = open_store(disk, image.config, TickingClock(image.now_ms))
        found = everything(store, trust_headers=False)
        for place, body in image.ledger.acknowledged.items():
            if place != hit:
                assert found.get(place) == body, (at, place)
        assert set(found.values()) <= set(image.ledger.acknowledged.values()), at
        ledger = copy_of(image.ledger)
        check_serves(store, ledger)
        store.abandon()


def test_a_flipped_bit_past_the_checkpoint_loses_nothing_before_it(killed: Image) -> None:
    """What follows is cut, and what is whole of it is kept aside."""
    hit = killed.places[3]
    for at in range(killed.size_of(hit)):
        disk = killed.disk.copy()
        flip(killed, disk, hit.commit_offset + at, at % 8)
        store = open_store(disk, killed.config, TickingClock(killed.now_ms))
        found = everything(store, trust_headers=False)
        for place in killed.places[:3]:
            assert found[place] == killed.ledger.acknowledged[place], at
        if hit not in found and killed.places[4] not in found:
            assert sum(kept.records for kept in store.report.quarantined) in (2, 3), (
                at
            )  # the hit one, where it looks whole
        store.abandon()


@pytest.mark.parametrize("size", [512, 4096])
def test_a_hole_before_the_checkpoint_costs_only_what_it_hit(size: int) -> None:
    image = make_image(120, clean=False)
    for at in range(0, image.end - image.end % size, size):
        disk = image.disk.copy()
        disk.damage(image.log_file(at), at % image.file_size, bytes(size))
        store = open_store(disk, image.config, TickingClock(image.now_ms))
        ledger = copy_of(image.ledger)
        check(store, ledger, lost=image.overlapping(at, at + size))
        check_serves(store, ledger)
        store.abandon()


def test_a_hole_inside_long_properties_is_never_served() -> None:
    """No checksum covers them; a sector that a power cut left out is seen by its zeros."""
    disk, clock = SimDisk(), TickingClock()
    store = open_store(disk, clock=clock)
    properties = encode_properties({"long": "x" * 3000}).encode()
    store.put_record(Record(topic="Alpha", queue_id=0, body=b"first", properties=b""))
    start = store.log.max_offset
    result = store.put_record(Record(topic="Alpha", queue_id=0, body=b"torn", properties=properties))
    store.flusher.flush()
    store.abandon()
    sectors = range(-(-(start + 200) // 512) * 512, (result.end_offset - 1) // 512 * 512, 512)
    assert len(sectors) > 3
    for at in sectors:
        torn = disk.copy()
        torn.damage(Path("/store/commitlog/00000000000000000000"), at, bytes(512))
        again = open_store(torn, clock=clock)
        assert list(everything(again).values()) == [b"first"], at
        again.abandon()
