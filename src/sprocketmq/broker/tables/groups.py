"""Consumer groups: what an administrator set for them, or the defaults of a group that came by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from sprocketmq.broker.settings import Settings
from sprocketmq.broker.tables.saver import Saver
from sprocketmq.logs import Events
from sprocketmq.protocol import names
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.group import SubscriptionGroupConfig
from sprocketmq.store.files.config_files import ConfigFile, SubscriptionGroups
from sprocketmq.store.files.files import Clock
from sprocketmq.store.files.table_text import TableText

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
        self.saver = Saver("groups", self._take)
        self._file = file
        self._settings = settings
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
            self.forbidden = kept.forbidden_table
            self.data_version = kept.data_version
        for group in INITIAL_GROUPS:
            self.configs.setdefault(group, SubscriptionGroupConfig(group_name=group))
        self._touched.update(dict.fromkeys(self.configs))

    def get(self, group: str) -> SubscriptionGroupConfig | None:
        """The group's settings; one that is not known yet is made when that is allowed. None when it is not."""
        found = self.configs.get(group)
        if found is not None:
            return found
        allowed = self._settings.current.auto_create_subscription_group or names.is_system_group(group)
        if not allowed or names.group_fault(group) is not None:
            return None
        config = self.configs[group] = SubscriptionGroupConfig(group_name=group)
        self._touched[group] = None
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.soon()
        events.info("group created", group=group)
        return config

    def put(self, config: SubscriptionGroupConfig) -> None:
        """Create or replace a group, as an administrator does: it is on disk when this returns."""
        self.put_all([config])

    def put_all(self, configs: Sequence[SubscriptionGroupConfig]) -> None:
        """Several at once, with one write to disk."""
        self._change({config.group_name: config for config in configs}, self.forbidden)

    def delete(self, group: str) -> bool:
        if group not in self.configs:
            return False
        self._change({group: None}, {name: table for name, table in self.forbidden.items() if name != group})
        return True

    def forbid(self, group: str, topic: str, bit: int, *, forbidden: bool) -> None:
        """Switch a bit (a PERM_ value) off for the group on that topic, or on again."""
        topics = dict(self.forbidden.get(group, {}))
        bits = topics.get(topic, 0)
        topics[topic] = bits | bit if forbidden else bits & ~bit
        left = {name: bits for name, bits in topics.items() if bits}
        others = {name: table for name, table in self.forbidden.items() if name != group}
        self._change({}, others | ({group: left} if left else {}))

    def is_forbidden(self, group: str, topic: str, bit: int) -> bool:
        """Whether an administrator has switched off this bit (a PERM_ value) for the group on that topic."""
        return bool(self.forbidden.get(group, {}).get(topic, 0) & bit)

    def _change(
        self, changes: Mapping[str, SubscriptionGroupConfig | None], forbidden: Mapping[str, Mapping[str, int]]
    ) -> None:
        """Put groups, or delete those of None. What cannot be on disk when this returns is as it was before."""
        before = {group: self.configs.get(group) for group in changes}, self.forbidden
        self._set(changes, forbidden)
        try:
            self.saver.save_now()
        except BaseException:
            self._set(*before)
            raise
        for hook in self.on_change:
            hook()

    def _set(
        self, changes: Mapping[str, SubscriptionGroupConfig | None], forbidden: Mapping[str, Mapping[str, int]]
    ) -> None:
        for group, config in changes.items():
            if config is None:
                self.configs.pop(group, None)
            else:
                self.configs[group] = config
        self.forbidden = forbidden
        self._touched.update(dict.fromkeys(changes))
        self.data_version = self.data_version.next(self._clock.now_ms())
        self.saver.changed()

    def _take(self) -> Callable[[], None]:
        touched, self._touched = self._touched, {}
        return partial(
            self._write, touched, SubscriptionGroups(forbidden_table=self.forbidden, data_version=self.data_version)
        )

    def _write(self, touched: Iterable[str], rest: SubscriptionGroups) -> None:
        self._file.write(self._text.text(self._file.encode(rest), touched))
