from __future__ import annotations

import ast
import asyncio
import json
import logging
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from sprocketmq import logs
from sprocketmq.logs import Events, quoted


@pytest.fixture(autouse=True)
def _restore() -> Iterator[None]:
    logger, loop = logging.getLogger("sprocketmq"), logging.getLogger("asyncio")
    before = logger.handlers[:], logger.level, logger.propagate
    before_of_loop = loop.handlers[:]
    yield
    for handler in logger.handlers:
        handler.close()
    logger.handlers[:], logger.level, logger.propagate = before
    loop.handlers[:] = before_of_loop


def test_one_line_per_event_with_its_fields(tmp_path: Path) -> None:
    logs.configure(tmp_path / "logs" / "ns.log")
    Events("sprocketmq.nameserver.server").info("broker registered", broker="broker-a", peer="10.0.0.7:5", note="a b")
    (line,) = (tmp_path / "logs" / "ns.log").read_text().splitlines()
    assert re.fullmatch(
        r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info from=nameserver\.server "
        r'event="broker registered" broker=broker-a peer=10\.0\.0\.7:5 note="a b"',
        line,
    )


def test_an_exception_stays_on_its_line(tmp_path: Path) -> None:
    logs.configure(tmp_path / "x.log")
    try:
        raise KeyError("missing\nline")
    except KeyError as error:
        Events("sprocketmq.x").error("request failed", error, code=10)
    (line,) = (tmp_path / "x.log").read_text().splitlines()
    assert "level=error" in line
    assert "code=10 error=KeyError" in line
    assert "at=test_logs.py:" in line


def test_json_lines_have_the_same_fields(tmp_path: Path) -> None:
    logs.configure(tmp_path / "log", as_json=True)
    Events("sprocketmq.broker.send").warning("refused", topic="T\n\u2028", opaque=7, peer=Path("p"))
    (line,) = (tmp_path / "log").read_text().splitlines()
    fields = json.loads(line)
    assert fields.pop("time").endswith("Z")
    assert fields == {
        "level": "warning", "from": "broker.send", "event": "refused", "topic": "T\n\u2028", "opaque": 7, "peer": "p",
    }  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True])
def test_who_speaks_where_several_do(tmp_path: Path, as_json: bool) -> None:
    logs.configure(tmp_path / "log", as_json=as_json, process="broker-a-2")
    Events("sprocketmq.x").info("is the master")
    assert ('"process": "broker-a-2"' if as_json else " process=broker-a-2 ") in (tmp_path / "log").read_text()


def test_levels_and_their_change(tmp_path: Path) -> None:
    logs.configure(tmp_path / "x.log", "warning")
    events = Events("sprocketmq.x")
    events.info("quiet")
    events.warning("loud")
    logs.set_level("debug")
    events.debug("detail")
    text = (tmp_path / "x.log").read_text()
    assert "quiet" not in text
    assert "event=loud" in text
    assert "event=detail" in text


def test_rotation_by_size(tmp_path: Path) -> None:
    logs.configure(tmp_path / "x.log", max_bytes=500, backups=2)
    events = Events("sprocketmq.x")
    for number in range(50):
        events.info("event", number=number)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["x.log", "x.log.1", "x.log.2"]
    assert all(path.stat().st_size <= 500 for path in tmp_path.iterdir())
    assert "number=49" in (tmp_path / "x.log").read_text()


def test_without_a_file_events_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    logs.configure()
    Events("sprocketmq.x").info("ready", port=9876)
    assert "event=ready port=9876" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        (5, "5"),
        ("", '""'),
        ("two words", '"two words"'),
        ('say "x"', '"say \\"x\\""'),
        ("line\nbreak", '"line\\nbreak"'),
        ("a=b", '"a=b"'),
        ("中文", "中文"),
        ("\u2028\x1b[31m", '"\\u2028\\x1b[31m"'),
    ],
)
def test_a_peer_cannot_forge_a_line(value: object, text: str) -> None:
    assert quoted(value) == text


def test_names_of_logs_stay_when_files_move() -> None:
    """Operators search and filter by them, so each is spelled out and does not follow the module's place."""
    package = Path(logs.__file__).parent
    for source in package.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(source.read_text())) if isinstance(node, ast.Call)]
        made = [call for call in calls if ast.unparse(call.func) in ("Events", "logging.getLogger", "getLogger")]
        if source != Path(logs.__file__):
            assert [name for name in map(_literal, made) if not name.startswith("sprocketmq.")] == [], source


def _literal(call: ast.Call) -> str:
    name = call.args[0] if call.args else None
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else ast.unparse(call)


def test_errors_are_counted_by_their_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "error_lines", Counter())
    logs.configure(tmp_path / "server.log")
    Events("sprocketmq.broker.periodic").error("job failed", ValueError("no"), job="scan")
    logging.getLogger("sprocketmq.store.flush").error("a sync failed")
    Events("sprocketmq.broker.periodic").warning("no error")
    assert logs.error_lines == {"broker.periodic": 1, "store.flush": 1}


async def test_a_callback_that_fails_is_a_line_of_the_log_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is done by the clock and not looked after by anybody."""
    monkeypatch.setattr(logs, "error_lines", Counter())
    logs.configure(tmp_path / "server.log")
    asyncio.get_running_loop().call_soon(int, "no number")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    (line,) = (tmp_path / "server.log").read_text().splitlines()
    assert " from=asyncio " in line
    assert "error=ValueError" in line
    assert logs.error_lines == {"asyncio": 1}
