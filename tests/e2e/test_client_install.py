"""The client as an index would deliver it: the pure wheel and orjson in an environment of their own, nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.metadata import distribution
from pathlib import Path

from sprocketmq.testing import EmbeddedCluster

ROOT = Path(__file__).parents[2]
PROGRAM = """
import sys
from sprocketmq import Message, PullSettings
from sprocketmq.client.sync import Producer, PullConsumer

with Producer("install", sys.argv[1]) as producer:
    assert producer.send(Message("installed", b"one")).ok
with PullConsumer("install", sys.argv[1], settings=PullSettings(consume_from="first")) as consumer:
    consumer.subscribe("installed")
    while not (messages := consumer.poll(timeout=5)):
        pass
    print(messages[0].body)
"""


def pure_wheel(folder: Path) -> Path:
    """Built from a copy: what a build leaves behind is no business of the source tree."""
    source = folder / "source"
    ignored = shutil.ignore_patterns("*.so", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", source / "src", ignore=ignored)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | {"SPROCKETMQ_PURE": "1"})
    (wheel,) = folder.glob("sprocketmq-*-py3-none-any.whl")
    return wheel


def fresh_environment(folder: Path, wheel: Path) -> Path:
    """Its Python. orjson is taken from here: tests ask no index."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    shutil.unpack_archive(wheel, packages, "zip")
    orjson = distribution("orjson")
    for file in orjson.files or ():
        if file.parts[0] != "..":
            (packages / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(str(orjson.locate_file(file)), packages / file)
    return folder / "bin" / "python"


def test_pure_wheel_alone_sends_and_consumes(tmp_path: Path) -> None:
    python = fresh_environment(tmp_path / "venv", pure_wheel(tmp_path))
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    with EmbeddedCluster() as cluster:
        done = subprocess.run(
            [python, "-c", PROGRAM, cluster.nameserver],
            cwd=tmp_path, env=clean, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.stdout, done.stderr) == ("b'one'\n", "")
