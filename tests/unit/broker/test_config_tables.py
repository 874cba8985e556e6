"""The tables of a broker against its log."""

from __future__ import annotations

from pathlib import Path

from tests.unit.broker.conftest import StartBroker
from tests.unit.broker.support import Caller
from tests.unit.store.support import finish_cleaning

from sprocketmq.broker.broker import Broker

SMALL = {"mappedFileSizeCommitLog": "4096"}


async def broker_whose_log_begins_later(start_broker: StartBroker) -> Broker:
    """Of the topic `old` there is a queue, and in the log nothing any more."""
    broker = await start_broker(**SMALL)
    caller = Caller(broker)
    await caller.send("old")
    for _ in range(5):
        await caller.send("new", bytes(3000))
    await caller.client.close(grace=0.2)
    broker.store.flush()
    broker.store.log.remove_first()
    return broker


async def test_a_master_takes_up_no_topic_whose_queues_are_all_forgotten(start_broker: StartBroker) -> None:
    broker = await broker_whose_log_begins_later(start_broker)
    broker.store.cleaner.drop_what_points_nowhere()
    finish_cleaning(broker.store)
    assert broker.store.cleaner.clean_expired_queues() == 1
    await broker.topics.delete("old", "new")
    broker.adopt_topics()
    assert "new" in broker.topics.configs
    assert "old" not in broker.topics.configs


async def test_a_broker_starts_without_the_files_of_a_queue_older_than_its_log(
    start_broker: StartBroker, tmp_path: Path
) -> None:
    broker = await broker_whose_log_begins_later(start_broker)
    await broker.stop()
    for path in (tmp_path / "store" / "consumequeue" / "old").glob("*/*"):
        path.unlink()
    again = await start_broker(**SMALL)
    assert not again.store.report.clean
    assert again.store.max_offset("new", 0) == 5
