"""`sprocket nameserver` as an operator runs it: a process, its lines, its signals and its exit codes."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame

SPROCKET = [sys.executable, "-m", "sprocketmq", "nameserver", "--host", "127.0.0.1"]


def start(*options: str) -> tuple[subprocess.Popen[str], int]:
    """A nameserver that is ready, and its port."""
    process = subprocess.Popen([*SPROCKET, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("nameserver ready on 127.0.0.1:"), line or process.communicate()[1]
    return process, int(line.rpartition(":")[2])


def stop(process: subprocess.Popen[str], number: int = signal.SIGTERM) -> str:
    process.send_signal(number)
    _, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    return log


def ask(port: int, command: Command) -> Command:
    with socket.create_connection(("127.0.0.1", port), 10) as sock:
        sock.sendall(encode_frame(command))
        decoder, answers = FrameDecoder(), list[Command]()
        while not answers:
            answers = decoder.feed(sock.recv(65536))
        return answers[0]


def test_it_serves_stops_on_a_signal_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    process, port = start("--port", "0", "--data", str(tmp_path))
    put = Command(RequestCode.PUT_KV_CONFIG, ext_fields={"namespace": "n", "key": "k", "value": "v"})
    assert ask(port, put).code == 0
    assert 'event="nameserver stopped"' in stop(process)
    process, port = start("--port", str(port), "--data", str(tmp_path))
    got = ask(port, Command(RequestCode.GET_KV_CONFIG, ext_fields={"namespace": "n", "key": "k"}))
    assert got.ext_fields == {"value": "v"}
    stop(process, signal.SIGINT)


def test_a_configuration_file_with_unknown_keys_warns_and_runs(tmp_path: Path) -> None:
    conf = tmp_path / "namesrv.conf"
    conf.write_text(f"listenPort=0\nkvConfigPath={tmp_path}/kv.json\nserverWorkerThreads=8\n")
    process, _ = start("-c", str(conf), "--set", f"configStorePath={tmp_path}/ns.properties")
    log = stop(process)
    (warning,) = [line for line in log.splitlines() if "unknown configuration key" in line]
    assert warning.endswith('event="unknown configuration key" key=serverWorkerThreads')


def test_the_log_goes_to_a_file(tmp_path: Path) -> None:
    options = ["--port", "0", "--data", str(tmp_path), "--set", f"logFile={tmp_path}/logs/ns.log"]
    process, _ = start(*options)
    assert stop(process) == ""
    assert "nameserver started" in (tmp_path / "logs" / "ns.log").read_text()


@pytest.mark.parametrize(
    ("options", "code", "text"),
    [
        (["--set", "listenPort=many"], 2, "listenPort='many'"),
        (["--set", "listenPort"], 2, "KEY=VALUE"),
        (["--set", "adminAllowFrom=here"], 2, "adminAllowFrom='here'"),
        (["-c", "/nonexistent/namesrv.conf"], 2, "/nonexistent/namesrv.conf"),
        (["--port", "70000"], 2, "'--port': 70000"),
        (["--set", "listenPort=70000"], 2, "listenPort='70000'"),
    ],
)
def test_bad_use_is_one_line_and_a_code(options: list[str], code: int, text: str) -> None:
    ran = subprocess.run([*SPROCKET, *options], capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == code
    (line,) = ran.stderr.splitlines()
    assert line.startswith("sprocket: ")
    assert text in line
