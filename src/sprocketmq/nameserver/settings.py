"""The nameserver's configuration while it runs: some keys can be changed, and what was changed outlives a restart."""

from __future__ import annotations

from collections.abc import Mapping

from sprocketmq import config as table
from sprocketmq import logs
from sprocketmq.atomic_file import replace_file
from sprocketmq.errors import ConfigError
from sprocketmq.logs import Events
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.properties_file import format_properties, parse_properties

events = Events("sprocketmq.nameserver.settings")


class NameserverSettings:
    """`current` is replaced as a whole: whoever reads it twice in one step sees one configuration."""

    def __init__(self, config: NameserverConfig) -> None:
        self.current = config
        self.version = 0
        self._changes: dict[str, str] = {}

    def load(self) -> None:
        """Apply what was changed in earlier runs; a key that may no longer be changed is left out."""
        try:
            text = self.current.config_store_path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        rows = table.settings_of(NameserverConfig)
        kept = {k: v for k, v in parse_properties(text).items() if k in rows and rows[k].runtime}
        for key, value in kept.items():
            events.info("setting kept from an earlier change", key=key, value=value)
        self._apply(kept)

    def text(self) -> str:
        return format_properties(table.to_properties(self.current))

    def update(self, entries: Mapping[str, str]) -> None:
        """Change settings and keep the change on disk; ConfigError names a key that cannot be changed so."""
        if not entries:
            raise ConfigError("no key to change")
        self._apply(entries)
        replace_file(self.current.config_store_path, format_properties(self._changes).encode())

    def _apply(self, entries: Mapping[str, str]) -> None:
        self.current = table.changed(self.current, entries)
        self.version += 1
        self._changes |= entries
        if "logLevel" in entries:
            logs.set_level(self.current.log_level.value)
