"""The examples of the README and the client's guide, run as they are printed, against a cluster of our own."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from sprocketmq.testing import EmbeddedCluster

ROOT = Path(__file__).parents[2]
PRINTED = "127.0.0.1:9876"


def examples(page: str, nameserver: str) -> list[str]:
    """The Python blocks of a page that talk to a nameserver, told where ours is."""
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return [block.replace(PRINTED, nameserver) for block in blocks if PRINTED in block and "pyspark" not in block]


def run(source: str) -> dict[str, Any]:
    names: dict[str, Any] = {"__name__": "example"}
    exec(compile(source, "example", "exec", dont_inherit=True), names)
    return names


def test_readme(capsys: pytest.CaptureFixture[str]) -> None:
    with EmbeddedCluster() as cluster:
        (example,) = examples("README.md", cluster.nameserver)
        run(example)
    message_id, consumed = capsys.readouterr().out.splitlines()
    assert len(message_id) == 32
    assert consumed == "new b'{\"id\": 42}'"


async def until_printed(capsys: pytest.CaptureFixture[str], text: str) -> None:
    seen = ""
    async with asyncio.timeout(60):
        while text not in seen:
            await asyncio.sleep(0.01)
            seen += capsys.readouterr().out


def test_client_guide(capsys: pytest.CaptureFixture[str]) -> None:
    async def both(names: dict[str, Any]) -> None:
        await names["produce"]()
        await until_printed(capsys, "0")
        consuming = asyncio.create_task(names["consume"]())
        await until_printed(capsys, "b'...'")
        consuming.cancel()
        await asyncio.gather(consuming, return_exceptions=True)

    with EmbeddedCluster() as cluster:
        (example,) = examples("docs/client.md", cluster.nameserver)
        asyncio.run(both(run(example)))
