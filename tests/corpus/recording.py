r"""Recordings as text, one file per scene.

=== name of a step
< connection 0|1 header         a frame, with its serialization; all that is not printable as \xNN, zero as \0
| body                          of that frame, when it has one; cut behind each \x0a, so that a change shows one line
< connection closed
=== files
path size sha256
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.corpus.runner import Answer, Played
from tests.corpus.wire import Frame

FOLDER = Path(__file__).parent.parent / "data" / "corpus"
_FILES = "files"
_ESCAPED = re.compile(rb"\\(?:x([0-9a-f]{2})|\\|0)")


def path_of(scene: str) -> Path:
    return FOLDER / f"{scene}.txt"


def write(scene: str, played: Played) -> None:
    lines = []
    for name, answers in played.answers.items():
        lines.append(f"=== {name}")
        lines += [line for answer in answers for line in _lines(answer)]
    lines.append(f"=== {_FILES}")
    lines += [f"{path} {digest}" for path, digest in played.files.items()]
    path_of(scene).parent.mkdir(parents=True, exist_ok=True)
    path_of(scene).write_text("\n".join(lines) + "\n", encoding="ascii")


def read(scene: str) -> tuple[dict[str, list[Answer]], dict[str, str]]:
    """The answers of each step, and the files."""
    answers: dict[str, list[Answer]] = {}
    files: dict[str, str] = {}
    current: list[Answer] | None = None
    for line in path_of(scene).read_text(encoding="ascii").splitlines():
        if line == f"=== {_FILES}":
            current = None
        elif line.startswith("=== "):
            current = answers.setdefault(line[4:], [])
        elif current is None:
            path, _, digest = line.partition(" ")
            files[path] = digest
        else:
            _read_line(line, current)
    return answers, files


def shown(answer: Answer | None) -> str:
    """An answer for a reader: its header decoded and as it came, and its body."""
    if answer is None:
        return "nothing"
    if answer.frame is None:
        return f"{answer.connection} closed"
    frame = answer.frame
    return f"{answer.connection} {frame.decoded()}\n      header {frame.header!r}\n      body {frame.body!r}"


def _lines(answer: Answer) -> list[str]:
    frame = answer.frame
    if frame is None:
        return [f"< {answer.connection} closed"]
    head = f"< {answer.connection} {frame.kind} {_escape(frame.header)}"
    return [head, *(f"| {_escape(piece)}" for piece in re.findall(rb"[^\n]*\n|[^\n]+", frame.body))]


def _read_line(line: str, answers: list[Answer]) -> None:
    if line.startswith("| "):
        last = answers[-1]
        assert last.frame is not None
        body = last.frame.body + _unescape(line[2:])
        answers[-1] = Answer(last.connection, Frame(last.frame.kind, last.frame.header, body))
        return
    connection, _, rest = line[2:].partition(" ")
    if rest == "closed":
        answers.append(Answer(connection, None))
    else:
        answers.append(Answer(connection, Frame(int(rest[0]), _unescape(rest[2:]), b"")))


_ESCAPES = {0: "\\0", 0x5C: "\\\\"}


def _escape(data: bytes) -> str:
    return "".join(_ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}") for byte in data)


def _unescape(text: str) -> bytes:
    return _ESCAPED.sub(_meant, text.encode())


def _meant(found: re.Match[bytes]) -> bytes:
    if found[1]:
        return bytes.fromhex(found[1].decode())
    return b"\0" if found[0] == b"\\0" else b"\\"
