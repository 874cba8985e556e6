"""Class paths from Maven and our compiled Java sources, each resolved once."""

from __future__ import annotations

import os
import subprocess
from functools import cache
from pathlib import Path

from tests.peers import toolchain
from tests.peers.cache import HERE, cached, digest

_JAVA = HERE / "java"
_POMS = _JAVA / "poms"
_SOURCES = _JAVA / "src"


@cache
def class_path(pom: str) -> str:
    """The class path of `java/poms/<pom>.xml` with everything it needs at run time."""
    source = _POMS / f"{pom}.xml"

    def resolve(directory: Path) -> None:
        command = [str(toolchain.maven()), "-q", "-B", "-f", str(source), "dependency:build-classpath"]
        _run([*command, f"-Dmdep.outputFile={directory / 'class-path'}"], f"Maven could not resolve {source.name}")

    return (cached(f"{pom}-{digest([source])}", resolve, _jars_are_there) / "class-path").read_text().strip()


@cache
def peer_class_path(version: str) -> str:
    """Our Java peer compiled against RocketMQ's client `version`, and that client."""
    libraries = class_path(f"client-{version}")
    sources = sorted(_SOURCES.rglob("*.java"))

    def compile_sources(directory: Path) -> None:
        options = ["-nowarn", "-proc:none", "-cp", libraries, "-d", str(directory)]
        _run([*_compiler(), *options, *map(str, sources)], "the Java peer did not compile")

    classes = cached(f"peer-{version}-{digest([libraries, *sources])}", compile_sources)
    return f"{classes}{os.pathsep}{libraries}"


def _compiler() -> list[str]:
    """javac, or Eclipse's compiler from Maven where only a JRE is installed."""
    release = str(toolchain.JAVA_MAJOR)
    javac = toolchain.javac()
    if javac is not None:
        return [str(javac), "-Xlint:none", "--release", release]
    main = "org.eclipse.jdt.internal.compiler.batch.Main"
    return [str(toolchain.java()), "-cp", class_path("ecj"), main, f"-{release}"]


def _jars_are_there(entry: Path) -> bool:
    """False also when Maven's repository was emptied since."""
    path = entry / "class-path"
    return path.exists() and all(Path(jar).exists() for jar in path.read_text().strip().split(os.pathsep))


def _run(command: list[str], complaint: str) -> None:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        raise toolchain.ToolMissing(f"{complaint}:\n{(run.stdout + run.stderr)[-4000:]}")
