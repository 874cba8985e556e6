"""Rewrites the recordings, all of them or those of the scenes that are named: `python -m tests.corpus.record [SCENE]`.

A difference that this brings is a change of behaviour: read it before it is committed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.corpus import recording
from tests.corpus.runner import play
from tests.corpus.scenes import SCENES


def main(names: list[str]) -> None:
    for scene in SCENES:
        if names and scene.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder:
            recording.write(scene.name, play(scene, Path(folder) / scene.name))
        print(f"{scene.name}: {len(scene.steps)} steps")


if __name__ == "__main__":
    main(sys.argv[1:])
