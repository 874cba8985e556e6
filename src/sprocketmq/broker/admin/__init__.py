"""The admin plane: what mqadmin, rocketmq-dashboard and our own tools ask of a broker.

    topics           create, list, show, delete; figures of a topic's queues
    groups           consumer groups: create, list, show, delete, forbid
    attributes       attributes of both
    connections      who is connected
    consume_stats    how far groups have come: lag, time spans, who consumes what
    consumer_lag     the same queue by queue
    offsets          reset, clone and correct the offsets of groups
    client_relay     questions that only a client can answer
    broker_config    the broker's configuration
    runtime_info     the broker's own figures and its statistics
    store_files      what is in the store, and making room in it
    cold_data        groups that read from the disk
    replication      what slaves copy, and how replication stands
    half_messages    half messages that were given up
    rocksdb          the tools for RocksDB, which has nothing to do here
    unsupported      what this broker does not have: answered with a reason
    audited_state    what the audit shows of a change

Who may ask what is in `auth.authorization.request_table`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sprocketmq.broker.admin.broker_config import SettingProcessors
from sprocketmq.broker.admin.client_relay import RelayProcessors
from sprocketmq.broker.admin.cold_data import ColdDataProcessors
from sprocketmq.broker.admin.connections import ConnectionProcessors
from sprocketmq.broker.admin.consume_stats import ProgressProcessors
from sprocketmq.broker.admin.consumer_lag import FallBehind
from sprocketmq.broker.admin.groups import GroupProcessors
from sprocketmq.broker.admin.half_messages import HalfMessageProcessors
from sprocketmq.broker.admin.offsets import OffsetAdminProcessors
from sprocketmq.broker.admin.replication import ReplicationProcessors
from sprocketmq.broker.admin.rocksdb import RocksDBProcessors
from sprocketmq.broker.admin.runtime_info import FigureProcessors
from sprocketmq.broker.admin.store_files import FileProcessors
from sprocketmq.broker.admin.topics import TopicProcessors
from sprocketmq.broker.admin.unsupported import RefusalProcessors

if TYPE_CHECKING:
    from sprocketmq.broker.broker import Broker


def register(broker: Broker) -> None:
    """Add the admin plane to the broker's table."""
    table, store, clock = broker.table, broker.store, broker.clock
    topics, groups, offsets, stats = broker.topics, broker.groups, broker.offsets, broker.stats
    TopicProcessors(
        broker.settings, store, topics, offsets, stats, broker.deletions, broker.registration, broker.mappings
    ).add_to(table)  # fmt: skip
    GroupProcessors(groups, offsets, stats).add_to(table)
    ConnectionProcessors(broker.producers, broker.consumers).add_to(table)
    ProgressProcessors(
        broker.settings, store, topics, groups, offsets, broker.consumers, stats, broker.registration, clock,
        broker.mappings.details,
    ).add_to(table)  # fmt: skip
    OffsetAdminProcessors(
        broker.settings, store, topics, groups, offsets, broker.consumers, broker.pulls
    ).add_to(table)  # fmt: skip
    RelayProcessors(broker.settings, store, topics, groups, broker.consumers).add_to(table)
    ColdDataProcessors(broker.settings, broker.cold, clock).add_to(table)
    SettingProcessors(broker.settings, broker.roles, broker.registration, clock).add_to(table)
    broker.figures.append(broker.kinds.timer.figures)
    FigureProcessors(
        broker.settings, store, stats, broker.pressure, broker.acks, broker.kinds.schedule,
        FallBehind(store, offsets, clock), clock, broker.figures,
    ).add_to(table)  # fmt: skip
    FileProcessors(store, topics, offsets, broker.consumers, broker.deletions).add_to(table)
    ReplicationProcessors(
        store, offsets, broker.kinds.schedule, broker.kinds.timer, broker.kinds.assignments, broker.replication,
        broker.roles, broker.registration, clock,
    ).add_to(table)  # fmt: skip
    HalfMessageProcessors(store, broker.kinds.halves, broker.kinds.checks).add_to(table)
    RocksDBProcessors().add_to(table)
    RefusalProcessors().add_to(table)
