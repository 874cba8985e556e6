"""Every request of the corpus is answered, byte for byte, as it was when the corpus was recorded, and leaves the files
that it left then; in both forms of the hot modules.

After a change that is meant to change an answer: `python -m tests.corpus.record`, and read the difference.
"""

from __future__ import annotations

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
        pytest.fail(f"{len(different)} steps are answered otherwise, the first {_SHOWN}:\n\n{shown}", pytrace=False)
    assert now.files == files


def test_every_code_that_has_a_handler_is_in_the_corpus(tmp_path: Path, played: dict[str, Played]) -> None:
    for role in ("broker-a", "nameserver"):
        scene = next(scene for scene in SCENES if list(scene.servers) == [role])
        handled = (played.get(scene.name) or play(scene, tmp_path / role)).codes
        asked = {step.code for scene in SCENES for step in requests(scene).values() if _is_for(step, role)}
        missing = [Code(code).name for code in sorted(handled - asked)]
        assert not missing, f"no request of the corpus asks {role} for these: add them to a scene, and record it"


def _is_for(step: Request, role: str) -> bool:
    return step.server == role and step.raw is None


def _difference(scene: Scene, name: str, before: list[Answer], now: list[Answer]) -> str:
    step = requests(scene).get(name)
    asked = f" ({_code_name(step.code)})" if step is not None else ""
    return f"{scene.name}: {name}{asked}\n  recorded\n{recording.shown(before)}\n  now\n{recording.shown(now)}"


def _code_name(code: int) -> str:
    return Code(code).name if code in set(Code) else str(code)
