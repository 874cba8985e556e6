"""A short story in network namespaces; `make chaos` tells longer ones."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.peers.namespaces import Namespaces, NoNamespaces, require_namespaces

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(autouse=True)
def namespaces() -> None:
    try:
        require_namespaces()
    except NoNamespaces as reason:
        pytest.skip(f"REAL PARTITIONS ARE NOT TESTED: {reason}")


def test_a_way_is_cut_in_one_direction_and_healed(tmp_path: Path) -> None:
    with Namespaces(f"smq-{tmp_path.parent.name[-4:]}-cut", ["left", "right", "judge"]) as net:
        assert _arrives(net, "left", "right")
        net.cut(("left", "right"))
        assert not _arrives(net, "left", "right")
        assert _arrives(net, "right", "left")
        net.heal()
        assert _arrives(net, "left", "right")


_HEAR = """
import socket
with socket.socket(type=socket.SOCK_DGRAM) as ears:
    ears.bind(("0.0.0.0", 9))
    print("ready", flush=True)
    print(ears.recv(9).decode(), flush=True)
"""


def _arrives(net: Namespaces, here: str, there: str) -> bool:
    """Whether a datagram does, before one that is sent after it over a way that nobody cuts."""
    words = [str(word) for word in net.command(there, [sys.executable, "-c", _HEAR])]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as ears:
        assert ears.stdout is not None
        assert ears.stdout.readline() == "ready\n"
        for node in (here, "judge"):
            say = f"import socket; socket.socket(type=socket.SOCK_DGRAM).sendto(b'{node}', ('{net.address(there)}', 9))"
            subprocess.run(net.command(node, [sys.executable, "-c", say]), check=True)
        return ears.stdout.readline() == f"{here}\n"


def test_a_kill_and_a_partition_lose_nothing(tmp_path: Path) -> None:
    if shutil.which("etcd") is None:
        pytest.skip("THE CLUSTER IS NOT TESTED: there is no etcd here (Debian: apt-get install etcd-server)")
    result = tmp_path / "result.json"
    words = ["--faults", "2", "--story", "2", "--kinds", "kill,partition", "--no-java", "--json", str(result)]
    done = subprocess.run([sys.executable, "-m", "tests.fault.partitions", *words], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    told = json.loads(result.read_text())
    assert told["findings"] == []
    assert told["faults"] == {"kill": 1, "partition": 1}
    assert told["promised"] > 60
