"""Consumer groups: what an administrator set for them, or the defaults of a group that came by itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.store.files.config_files import ConfigFile, SubscriptionGroups
from sprocketmq.store.files.files import Clock

events = Events("sprocketmq.broker.groups")

#: Groups that every broker has, as RocketMQ makes them.
INITIAL_GROUPS = (
    "TOOLS_CONSUMER", "FILTERSRV_CONSUMER", "SELF_TEST_C_GROUP", "CID_ONS-HTTP-PROXY", "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION", "CID_ONSAPI_OWNER", "CID_RMQ_SYS_TRANS",
)  # fmt: skip


class GroupTable:
    def __init__(self, file: ConfigFile[SubscriptionGroups], settings: Settings, clock: Clock) -> None:
        self.configs: dict[str, SubscriptionGroupConfig] = {}
        self.forbidden: Mapping[str, Mapping[str, int]] = {}
        self.data_version = DataVersion(timestamp=clock.now_ms())
        #: Called when groups were changed or deleted; a group that came by itself changes nothing for the others.
        self.on_change: list[Callable[[], object]] = []
        self.saver = Saver("groups", self._save)
        self._file = file
        self._settings = settings
        self._clock = clock

    def load(self) -> None:
        kept = self._file.load()
        if kept is not None:
            self.configs = dict(kept.subscription_group_table)
            self.forbidden = kept.forbidden_table
            self.data_version = kept.data_version
        for group in INITIAL_GROUPS:
            self.configs.setdefault(group, SubscriptionGroupConfig(group_name=group))

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """The group's settings; one that is not known yet is made when that is allowed. None when it is not."""
        found = self.configs.get(group)
        if found is not None:
            return found
        allowed = self._settings.current.auto_create_subscription_group or names.is_system_group(group)
        if not allowed or names.group_fault(group) is not None:
            return None
        config = self.configs[group] = SubscriptionGroupConfig(group_name=group)
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.soon()
        events.info("group created", group=group)
        return config

    def put(self, config: SubscriptionGroupConfig) -> None:
        """Create or replace a group, as an administrator does: it is on disk when this returns."""
        self.put_all([config])

    def put_all(self, configs: Sequence[SubscriptionGroupConfig]) -> None:
        """Several at once, with one write to disk."""
        self.configs |= {config.group_name: config for config in configs}
        self._changed()

    def delete(self, group: str) -> bool:
        if self.configs.pop(group, None) is None:
            return False
        self.forbidden = {name: table for name, table in self.forbidden.items() if name != group}
        self._changed()
        return True

    def forbid(self, group: str, topic: str, bit: int, *, forbidden: bool) -> None:
        """Switch a bit (a PERM_ value) off for the group on that topic, or on again."""
        topics = dict(self.forbidden.get(group, {}))
        bits = topics.get(topic, 0)
        topics[topic] = bits | bit if forbidden else bits & ~bit
        left = {name: bits for name, bits in topics.items() if bits}
        others = {name: table for name, table in self.forbidden.items() if name != group}
        self.forbidden = others | ({group: left} if left else {})
        self._changed()

    def is_forbidden(self, group: str, topic: str, bit: int) -> bool:
        """Whether an administrator has switched off this bit (a PERM_ value) for the group on that topic."""
        return bool(self.forbidden.get(group, {}).get(topic, 0) & bit)

    def _changed(self) -> None:
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.save_now()
        for hook in self.on_change:
            hook()

    def _save(self) -> None:
        self._file.save(
            SubscriptionGroups(
                subscription_group_table=self.configs, forbidden_table=self.forbidden, data_version=self.data_version
            )
        )
