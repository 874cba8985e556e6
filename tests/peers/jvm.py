"""The command line of a JVM that starts quickly, stays small and writes nothing outside its own directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.peers import toolchain

_QUICK = ("-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:+UseSerialGC", "-XX:-UsePerfData")
_OPENED = ("java.base/java.nio", "java.base/jdk.internal.ref", "java.base/sun.nio.ch", "java.base/java.lang")


def java_command(
    class_path: str,
    main: str,
    *arguments: str,
    home: Path,
    heap: str = "256m",
    properties: Mapping[str, str] | None = None,
    quick: bool = True,
) -> list[str]:
    """`home` becomes user.home, where RocketMQ's loggers and clients keep their files."""
    named = {"user.home": str(home), "rocketmq.home.dir": str(home), "file.encoding": "UTF-8", **(properties or {})}
    return [
        str(toolchain.java()),
        f"-Xmx{heap}",
        *(_QUICK if quick else ()),
        *(f"--add-opens={module}=ALL-UNNAMED" for module in _OPENED),
        "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
        *(f"-D{key}={value}" for key, value in named.items()),
        "-cp",
        class_path,
        main,
        *arguments,
    ]
