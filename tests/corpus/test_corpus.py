"""Every request of the corpus is answered, byte for byte, as it was when the corpus was recorded, and leaves the files
that it left then; in both forms of the hot modules.

After a change that is meant to change an answer: `python -m tests.corpus.record`, and read the difference.
"""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path

import pytest
from tests.corpus import recording
from tests.corpus.model import Request, Scene
from tests.corpus.runner import Answer, Played, play, requests
from tests.corpus.scenes import SCENES
from tests.corpus.servers import Code

_SHOWN = 5


@pytest.fixture(scope="module")
def played() -> dict[str, Played]:
    """The scenes that were played, by name: each is played once."""
    return {}


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_answers_and_files_are_those_recorded(scene: Scene, tmp_path: Path, played: dict[str, Played]) -> None:
    now = played[scene.name] = play(scene, tmp_path / scene.name)
    answers, files = recording.read(scene.name)
    assert list(now.answers) == list(answers), "the steps are others than those recorded: record the scene anew"
    different = [name for name in answers if now.answers[name] != answers[name]]
    if different:
        shown = "\n\n".join(_difference(scene, name, answers[name], now.answers[name]) for name in different[:_SHOWN])
        pytest.fail(f"{len(different)} of {len(answers)} steps are answered otherwise\n\n{shown}", pytrace=False)
    changed = [path for path in sorted(files | now.files) if files.get(path) != now.files.get(path)]
    assert not changed, "the answers are the same, and these files are not"


def test_every_code_that_has_a_handler_is_in_the_corpus(tmp_path: Path, played: dict[str, Played]) -> None:
    for role in ("broker-a", "nameserver", "controller"):
        scene = next(scene for scene in SCENES if list(scene.servers) == [role])
        handled = (played.get(scene.name) or play(scene, tmp_path / role)).codes
        asked = {step.code for scene in SCENES for step in requests(scene) if _is_for(step, role)}
        missing = [Code(code).name for code in sorted(handled - asked)]
        assert not missing, f"no request of the corpus asks {role} for these: add them to a scene, and record it"


def _is_for(step: Request, role: str) -> bool:
    return step.server == role and step.raw is None


def _difference(scene: Scene, name: str, before: list[Answer], now: list[Answer]) -> str:
    pairs = [pair for pair in zip_longest(before, now) if pair[0] != pair[1]]
    return f"{scene.name}: {name}\n" + "\n".join(
        f"  {_request_of(scene, old or new)}\n    recorded {recording.shown(old)}\n    now {recording.shown(new)}"
        for old, new in pairs[:_SHOWN]
    )


def _request_of(scene: Scene, answer: Answer | None) -> str:
    """Which request an answer belongs to."""
    if answer is None or answer.frame is None:
        return "the connection"
    if not answer.frame.is_response:
        return f"asked of the client: {_code_name(answer.frame.code)}"
    found = [step for step in requests(scene) if step.opaque == answer.frame.opaque]
    return ", ".join(f"{_code_name(step.code)} {step.name!r}" for step in found)


def _code_name(code: int) -> str:
    return Code(code).name if code in set(Code) else str(code)
