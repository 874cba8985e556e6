"""The broker's configuration while it runs.

`current` and `store` are replaced as a whole: whoever reads one twice in one step sees one configuration. What was
changed is kept in `config/broker.properties`, a file of our own beside RocketMQ's, and outlives a restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sprocketmq import config as table
from sprocketmq import logs
from sprocketmq.broker.config import BrokerConfig
from sprocketmq.properties_file import format_properties, parse_properties
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.store.config import StoreConfig
from sprocketmq.store.files import Files


class Settings:
    def __init__(self, config: BrokerConfig, store: StoreConfig, files: Files) -> None:
        self.current = config
        self.store = store
        self.version = DataVersion()
        self.on_change: list[Callable[[BrokerConfig], object]] = []
        self._files = files
        self._path = store.layout.config / "broker.properties"
        self._changes: dict[str, str] = {}

    def load(self) -> None:
        """Apply what was changed in earlier runs; a key that may no longer be changed is left out."""
        if not self._files.exists(self._path):
            return
        rows = table.settings_of(BrokerConfig)
        entries = parse_properties(self._files.read_bytes(self._path).decode("utf-8", "replace"))
        self._apply({key: text for key, text in entries.items() if key in rows and rows[key].runtime})

    def entries(self) -> dict[str, str]:
        """Every key and its value, as `getBrokerConfig` shows them."""
        return table.to_properties(self.current) | self.store.to_properties()

    def update(self, entries: Mapping[str, str], now_ms: int) -> None:
        """Change settings and keep the change on disk; ConfigError names a key that cannot be changed so."""
        self._apply(entries)
        self.version = self.version.next(now_ms)
        beside = self._path.with_suffix(".tmp")
        self._files.make_dirs(self._path.parent)
        self._files.write_bytes(beside, format_properties(self._changes).encode())
        self._files.rename(beside, self._path)
        self._files.sync_dir(self._path.parent)

    def _apply(self, entries: Mapping[str, str]) -> None:
        self.current = table.changed(self.current, entries)
        self._changes |= entries
        if "logLevel" in entries:
            logs.set_level(self.current.log_level.value)
        for hook in self.on_change:
            hook(self.current)
