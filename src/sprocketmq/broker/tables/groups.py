"""Consumer groups: what an administrator set for them, or the defaults of a group that came by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.creations import Creations
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.remoting.peer import Peer
from sprocketmq.store.files.clock import Clock
from sprocketmq.store.files.config_files import ConfigFile, SubscriptionGroups
from sprocketmq.store.files.table_text import TableText

events = Events("sprocketmq.broker.groups")

V = TypeVar("V")
_Groups = Mapping[str, SubscriptionGroupConfig | None]
_Forbidden = Mapping[str, Mapping[str, int] | None]

#: Groups that every broker has, as RocketMQ makes them.
INITIAL_GROUPS = (
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_RMQ_SYS_TRANS",
)  # fmt: skip


class GroupTable:
    def __init__(
        self, file: ConfigFile[SubscriptionGroups], settings: Settings, clock: Clock, creations: Creations | None = None
    ) -> None:
        self.configs: dict[str, SubscriptionGroupConfig] = {}
        self.forbidden: dict[str, Mapping[str, int]] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        #: Called when groups were changed or deleted; a group that came by itself changes nothing for the others.
        self.on_change: list[Callable[[], object]] = []
        self.saver = Saver("groups", self._take, longest_rest=0.5)
        self._file = file
        self._settings = settings
        self._creations = creations or Creations(settings, clock)
        self._clock = clock
        self._touched: dict[str, None] = {}
        self._text: TableText[SubscriptionGroupConfig] = TableText(
            lambda table: file.encode(SubscriptionGroups(subscription_group_table=table)),
            lambda group: self.configs.get(group),
        )

    def load(self) -> None:
        kept = self._file.load()
        if kept is not None:
            self.configs = dict(kept.subscription_group_table)
            self.forbidden = dict(kept.forbidden_table)
            self.data_version = kept.data_version
        for group in INITIAL_GROUPS:
            self.configs.setdefault(group, SubscriptionGroupConfig(group_name=group))
        self._touched.update(dict.fromkeys(self.configs))

    def get(self, group: str, peer: Peer | None = None) -> SubscriptionGroupConfig | None:
        """The group's settings; one that is not known yet is made when that is allowed. None when it is not.

        `peer` is who uses the group; None is the broker itself.
        """
        found = self.configs.get(group)
        if found is not None:
            return found
        allowed = self._settings.current.auto_create_subscription_group or names.is_system_group(group)
        if not allowed or names.group_fault(group) is not None:
            return None
        if self._creations.refuses(peer, len(self.configs), self._settings.current.max_auto_created_groups):
            events.warning("group not created", group=group, peer=peer)
            return None
        config = self.configs[group] = SubscriptionGroupConfig(group_name=group)
        self._touched[group] = None
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.soon()
        events.info("group created", group=group)
        return config

    async def put(self, config: SubscriptionGroupConfig) -> None:
        """Create or replace a group, as an administrator does: it is on disk when this returns."""
        await self.put_all([config])

    async def put_all(self, configs: Sequence[SubscriptionGroupConfig]) -> None:
        """Several at once, with one write to disk."""
        await self._keep({config.group_name: config for config in configs}, {})

    async def delete(self, group: str) -> bool:
        if group not in self.configs:
            return False
        await self._keep({group: None}, {group: None})
        return True

    def inherit(
        self, configs: Mapping[str, SubscriptionGroupConfig], forbidden: Mapping[str, Mapping[str, int]],
        version: DataVersion,
    ) -> None:  # fmt: skip
        """For a slave: the same groups as its master, and their version."""
        changes: dict[str, SubscriptionGroupConfig | None] = {
            group: config for group, config in configs.items() if self.configs.get(group) != config
        }
        changes |= {group: None for group in self.configs if group not in configs}
        if changes or forbidden != self.forbidden:
            gone: dict[str, Mapping[str, int] | None] = dict.fromkeys(self.forbidden)
            self._change(changes, {**gone, **forbidden})
        if version != self.data_version:
            self.data_version = version
            self.saver.soon()

    async def forbid(self, group: str, topic: str, bit: int, *, forbidden: bool) -> None:
        """Switch a bit (a PERM_ value) off for the group on that topic, or on again."""
        topics = dict(self.forbidden.get(group, {}))
        bits = topics.get(topic, 0)
        topics[topic] = bits | bit if forbidden else bits & ~bit
        left = {name: bits for name, bits in topics.items() if bits}
        await self._keep({}, {group: left or None})

    def is_forbidden(self, group: str, topic: str, bit: int) -> bool:
        """Whether an administrator has switched off this bit (a PERM_ value) for the group on that topic."""
        return bool(self.forbidden.get(group, {}).get(topic, 0) & bit)

    async def _keep(self, changes: _Groups, forbidden: _Forbidden) -> None:
        """What cannot be on disk is as it was before, unless somebody else has changed it meanwhile."""
        before = {group: self.configs.get(group) for group in changes}
        allowed = {group: self.forbidden.get(group) for group in forbidden}
        self._change(changes, forbidden)
        try:
            await self.saver.saved()
        except BaseException:
            self._change(
                {group: was for group, was in before.items() if self.configs.get(group) is changes[group]},
                {group: was for group, was in allowed.items() if self.forbidden.get(group) is forbidden[group]},
            )
            raise

    def _change(self, changes: _Groups, forbidden: _Forbidden) -> None:
        """Put groups and what is forbidden to them, or delete those of None."""
        _apply(self.configs, changes)
        self.forbidden = dict(self.forbidden)  # a thread may be encoding the one before
        _apply(self.forbidden, forbidden)
        self._touched.update(dict.fromkeys(changes))
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.changed()
        for hook in self.on_change:
            hook()

    def _take(self) -> Callable[[], None]:
        self._text.note(self._touched)
        self._touched = {}
        rest = SubscriptionGroups(forbidden_table=self.forbidden, data_version=self.data_version)
        return partial(self._write, rest)

    def _write(self, rest: SubscriptionGroups) -> None:
        self._file.write(self._text.text(self._file.encode(rest)))


def _apply(table: dict[str, V], changes: Mapping[str, V | None]) -> None:
    """Put the entries into the table, and take those of None out of it."""
    for key, value in changes.items():
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
