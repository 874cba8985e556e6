"""A real server in a process of its own, with little memory or few files, for attacks on it."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
#: Small files, for mapped ones count as address space.
_SETTINGS = {
    "brokerName": "besieged", "bindAddress": "127.0.0.1", "listenPort": "0", "brokerIP1": "127.0.0.1",
    "vipChannelEnable": "false", "adminAllowLocal": "false", "adminAllowFrom": "127.0.0.2",
    "mappedFileSizeCommitLog": str(8 * MIB), "mappedFileSizeConsumeQueue": "6000", "maxIndexNum": "2000",
    "maxHashSlotNum": "500", "metricsExporterType": "DISABLE", "logLevel": "WARNING", "haListenPort": "0",
    "brokerFastFailureEnable": "false",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Besieged:
    process: asyncio.subprocess.Process
    port: int
    log: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def besieged_broker(
    folder: Path, *, memory: int | None = None, files: int | None = None, **entries: str
) -> AbstractAsyncContextManager[Besieged]:
    def options(log: Path) -> list[str]:
        return _set({**_SETTINGS, "storePathRootDir": str(folder / "store"), "logFile": str(log), **entries})

    return besieged("broker", folder, options, memory=memory, files=files)


def besieged_server(role: str, folder: Path, *, memory: int, **entries: str) -> AbstractAsyncContextManager[Besieged]:
    """A nameserver or a controller."""

    def options(log: Path) -> list[str]:
        own = {
            "adminAllowLocal": "false", "adminAllowFrom": "127.0.0.2", "metricsExporterType": "DISABLE",
            "logLevel": "WARNING", "logFile": str(log),
        }  # fmt: skip
        return ["--host", "127.0.0.1", "--port", "0", "--data", str(folder / role), *_set({**own, **entries})]

    return besieged(role, folder, options, memory=memory)


def _set(settings: Mapping[str, str]) -> list[str]:
    return [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]


@asynccontextmanager
async def besieged(
    role: str, folder: Path, options: Callable[[Path], Sequence[str]], *, memory: int | None = None,
    files: int | None = None,
) -> AsyncIterator[Besieged]:  # fmt: skip
    """`options` are those of the command, for a log at this path."""

    def confine() -> None:
        if memory is not None:
            resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    log = folder / f"{role}.log"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sprocketmq", role, *options(log), stdout=asyncio.subprocess.PIPE, preexec_fn=confine
    )
    try:
        assert process.stdout is not None
        async with asyncio.timeout(60):
            line = (await process.stdout.readline()).decode()
        assert " ready on " in line, line
        yield Besieged(process, int(line.rpartition(":")[2]), log)
    finally:
        if process.returncode is None:
            process.terminate()
        assert await process.wait() == 0
