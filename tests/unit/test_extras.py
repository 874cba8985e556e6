"""Optional packages: the client loads none of them, and whoever needs one is told in one line which extra brings it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OPTIONAL = ("click", "rich", "lark", "uvloop", "lz4", "zstandard", "pyarrow", "pyspark", "py4j", "opentelemetry")


def run_without(packages: tuple[str, ...], program: str) -> subprocess.CompletedProcess[str]:
    """The program in a Python in which these packages are not to be found."""
    hidden = f"import sys; sys.modules.update(dict.fromkeys({packages!r}))\n"
    return subprocess.run([sys.executable, "-c", hidden + program], capture_output=True, text=True, check=False)


def test_client_loads_no_optional_package() -> None:
    program = (
        "from sprocketmq import AdminClient, Message, Producer, PullConsumer, PushConsumer\n"
        "import sprocketmq.client.sync\n"
        "Producer('group', '127.0.0.1:9876'), PushConsumer('group', '127.0.0.1:9876')\n"
        f"print([name for name in {OPTIONAL!r} if name in sys.modules])\n"
    )
    done = run_without((), program)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_client_needs_no_optional_package() -> None:
    program = (
        "from sprocketmq.testing import EmbeddedCluster\n"
        "from sprocketmq.client.sync import Producer\n"
        "from sprocketmq import Message\n"
        "with EmbeddedCluster() as cluster, Producer('group', cluster.nameserver) as producer:\n"
        "    print(producer.send(Message('topic', b'body')).ok)\n"
    )
    done = run_without(OPTIONAL, program)
    assert done.stdout == "True\n"
    assert done.stderr in ("", "no SQL92 subscriptions\n")  # the broker, of whom no client needs it


def missing(program: str) -> str:
    """The last line of the traceback that the program ends with."""
    done = run_without(OPTIONAL, program)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (
            "from sprocketmq.filter.sql import compile_sql; compile_sql('a > 1')",
            "sprocketmq.errors.FilterError: an SQL92 expression needs lark: pip install 'sprocketmq[broker]'",
        ),
        (
            "from sprocketmq.protocol.record.compression import *; compress(b'', CompressionType.LZ4)",
            "sprocketmq.errors.MissingExtra: an LZ4 body needs lz4: pip install 'sprocketmq[lz4]'",
        ),
        (
            "from sprocketmq.protocol.record.compression import *; decompress(b'', CompressionType.ZSTD)",
            "sprocketmq.errors.MissingExtra: a zstd body needs zstandard: pip install 'sprocketmq[zstd]'",
        ),
        (
            "from sprocketmq.store.view.scan_batches import scan; scan('.')",
            "sprocketmq.errors.MissingExtra: a scan needs pyarrow: pip install 'sprocketmq[arrow]'",
        ),
        (
            "import sprocketmq.client.pull.arrow",
            "sprocketmq.errors.MissingExtra: a record batch needs pyarrow: pip install 'sprocketmq[arrow]'",
        ),
        (
            "import sprocketmq.spark.pipeline",
            "sprocketmq.errors.MissingExtra: a job on Spark needs pyspark: pip install 'sprocketmq[spark]'",
        ),
    ],
)
def test_missing_extra_is_named(program: str, says: str) -> None:
    assert missing(program) == says


def test_command_without_its_packages_is_one_line() -> None:
    done = run_without(("rich",), "from sprocketmq.cli import run; run()")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "sprocket: the command sprocket needs rich: pip install 'sprocketmq[cli]'\n"


def test_declared_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    assert len(project["dependencies"]) <= 3
    assert extras["all"] == [f"sprocketmq[{','.join(name for name in extras if name not in ('all', 'dev'))}]"]
