"""The examples of the README and the client's guide, run as they are printed, against a cluster of our own.

Programs and shell lines; what sets up the machine (`make`, `pip install`) is checked against the files it names.
"""

from __future__ import annotations

import asyncio
import os
import re
import struct
import subprocess
import sys
import tomllib
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


def shell_lines(page: str) -> list[str]:
    """The commands of a page: what is indented by four spaces, without remarks."""
    lines = re.findall(r"^    (\S.*)$", re.sub(r"^```.*?^```$", "", (ROOT / page).read_text(), flags=re.M | re.S), re.M)
    return [re.sub(r"\s+#.*", "", line) for line in lines]


def test_readme_is_one_screen() -> None:
    """What is beyond a picture, the first commands, the comparison and links is in docs/quick-start.md."""
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 65
    assert text.count("![") == 1


def test_readme_activates_before_its_first_command() -> None:
    lines = shell_lines("README.md")
    assert lines.index(". .venv/bin/activate") < min(at for at, line in enumerate(lines) if line.startswith("sprocket"))
    assert all(re.match(r"(make|sprocket|pip install|\. \.venv/bin/activate)\b", line) for line in lines)


def test_readme_commands_run_as_typed(tmp_path: Path) -> None:
    """In an environment with `sprocket` on its path, one after the other; the billing group is the program's."""
    commands = [line for line in shell_lines("README.md") if re.match(r"sprocket (?!up)", line)]
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with EmbeddedCluster() as cluster:
        environment["NAMESRV_ADDR"] = cluster.nameserver
        (example,) = examples("README.md", cluster.nameserver)
        run(example)
        for command in commands:
            done = subprocess.run(
                ["sh", "-c", command], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            assert (done.returncode, done.stderr) == (0, ""), command
            assert done.stdout, command


@pytest.mark.parametrize("page", ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))])
def test_what_is_installed_is_what_is_here(page: str) -> None:
    """A line to type works today, whether or not an index has a release."""
    assert all(re.match(r"pip install '?\.", line) for line in shell_lines(page) if "pip install" in line)


def test_readme_names_extras_and_targets_that_exist() -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M)
    lines = shell_lines("README.md")
    assert {name for line in lines for part in re.findall(r"\[(.*?)\]", line) for name in part.split(",")} <= set(known)
    assert {line.split()[1] for line in lines if line.startswith("make ")} <= set(targets)


def test_names_in_the_text_are_names_of_the_code() -> None:
    """A parameter that was renamed lives on in prose, which no test runs. Metrics have a test of their own."""
    folders = (ROOT / "src", ROOT / "tests", ROOT / "bench")
    known = {
        word for folder in folders for path in folder.rglob("*.py") for word in re.findall(r"\w+", path.read_text())
    }
    pages = [ROOT / "README.md", *(path for path in (ROOT / "docs").glob("*.md") if path.name != "metrics.md")]
    told = {
        (page.name, word)
        for page in pages
        for code in re.findall(r"`([^`\n]+)`", page.read_text())
        if "/" not in code and ".py" not in code
        for word in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", code)
    }
    assert len(told) > 50
    assert {each for each in told if each[1] not in known} == set()


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").glob("*.png")), ids=lambda path: path.name)
def test_pictures_are_small(picture: Path) -> None:
    """Whoever clones or reads pays for them. tests/browser/images.py makes them, all to one measure."""
    content = picture.read_bytes()
    assert struct.unpack_from(">8x4x4sII", content) == (b"IHDR", 1200, 760)
    assert len(content) < 120_000
    assert f"images/{picture.name}" in (ROOT / "docs" / "console.md").read_text()
