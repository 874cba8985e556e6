"""A server's configuration while it runs: some keys can be changed, and what was changed outlives a restart."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, TypeVar

from sprocketmq import config as table
from sprocketmq import logs
from sprocketmq.atomic_file import replace_file
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import ConfigError
from sprocketmq.logs import Events
from sprocketmq.properties_file import format_properties, parse_properties
from sprocketmq.protocol.command import Command
from sprocketmq.remoting.config import ServerConfig
from sprocketmq.remoting.config_request import config_change
from sprocketmq.remoting.connection import Connection

C = TypeVar("C", bound=ServerConfig)


class RunningSettings(Generic[C]):
    """`current` is replaced as a whole: whoever reads it twice in one step sees one configuration.

    Changes are kept at `path`; `log` is where they are told.
    """

    def __init__(self, config: C, path: Path, log: Events) -> None:
        self._path = path
        self._events = log
        self.current = config
        self.version = 0
        self._changes: dict[str, str] = {}
        self._updating = asyncio.Lock()

    def load(self) -> None:
        """Apply what was changed in earlier runs; a key that may no longer be changed is left out."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return
        rows = table.settings_of(type(self.current))
        kept = {k: v for k, v in parse_properties(text).items() if k in rows and rows[k].runtime}
        for key, value in kept.items():
            self._events.info("setting kept from an earlier change", key=key, value=table.shown(key, value))
        self._apply(kept)

    def entries(self) -> dict[str, str]:
        """Every key and its value; a secret is not shown."""
        return {key: table.shown(key, text) for key, text in table.to_properties(self.current).items()}

    def text(self) -> str:
        return format_properties(self.entries())

    async def update(self, entries: Mapping[str, str]) -> None:
        """Change settings, which count when they are on disk; ConfigError names a key that cannot be changed so."""
        if not entries:
            raise ConfigError("no key to change")
        async with self._updating:
            table.changed(self.current, entries)
            text = format_properties({**self._changes, **entries})
            await asyncio.to_thread(replace_file, self._path, text.encode())
            self._apply(entries)

    def _apply(self, entries: Mapping[str, str]) -> None:
        self.current = table.changed(self.current, entries)
        self.version += 1
        self._changes |= entries
        if "logLevel" in entries:
            logs.set_level(self.current.log_level.value)

    async def update_from(self, connection: Connection, request: Command) -> Command:
        """Do what a request to change the configuration asks for."""
        with config_change(connection, request, self._events, self._is_fixed, ResponseCode.SYSTEM_ERROR) as entries:
            await self.update(entries)
        return request.reply()

    def _is_fixed(self, key: str) -> bool:
        rows = table.settings_of(type(self.current))
        return key in rows and not rows[key].runtime
