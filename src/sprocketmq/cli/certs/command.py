"""`sprocket certs init|server|client|show`: an authority for development, in one folder.

ca.pem, ca.key              the authority; ca.pem is what clients trust
NAME.pem, NAME.key          what it vouches for
NAME.properties             a tls.properties for a server of that name
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sprocketmq.cli.cluster_options import json_option
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    from sprocketmq.certificates import Issued, PemFiles

C = TypeVar("C", bound=Callable[..., Any])

_FILE_NAME = re.compile(r"[\w.:-]+", re.ASCII)


def _folder_option(command: C) -> C:
    default = click.Path(path_type=Path)
    option = click.option(
        "--dir", "folder", type=default, default=Path("certs"), show_default=True, help="Where they are."
    )
    return option(command)


def _days_option(default: int) -> Callable[[C], C]:
    return click.option("--days", type=click.IntRange(1, 36500), default=default, show_default=True, help="How long.")


@click.group()
def certs() -> None:
    """Certificates for development: an authority, servers and clients."""


@certs.command()
@_folder_option
@click.option("--name", default="SprocketMQ development", show_default=True, help="What the authority is called.")
@_days_option(3650)
def init(folder: Path, name: str, days: int) -> None:
    """Make an authority."""
    from sprocketmq.certificates import make_authority

    if (folder / "ca.key").exists():
        raise ConfigError(
            f"{folder / 'ca.key'} is there; what it vouches for would be void. --dir chooses another place"
        )
    files = make_authority(name, days=days).write(folder, "ca")
    click.echo(f"{files.cert}  for clients to trust\n{files.key}  keep it to yourself")


@certs.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@_folder_option
@_days_option(397)
def server(names: tuple[str, ...], folder: Path, days: int) -> None:
    """A certificate for a server that is called by these host names and addresses."""
    from sprocketmq.atomic_file import replace_file
    from sprocketmq.certificates import make_server

    files = _issue(folder, names[0], lambda authority: make_server(authority, names, days=days))
    settings = folder / f"{_checked(names[0])}.properties"
    replace_file(settings, _settings(folder, files).encode())
    click.echo(f"{files.cert}\n{files.key}\n{settings}  for --set tls.config.file={settings}")


@certs.command()
@click.argument("name")
@_folder_option
@_days_option(397)
def client(name: str, folder: Path, days: int) -> None:
    """A certificate for the client NAME."""
    from sprocketmq.certificates import make_client

    files = _issue(folder, name, lambda authority: make_client(authority, name, days=days))
    click.echo(f"{files.cert}\n{files.key}")


@certs.command("show")
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@_folder_option
@json_option
@click.pass_context
def show_certificates(context: click.Context, files: tuple[Path, ...], folder: Path, as_json: bool) -> None:
    """Show the owners and expiry dates of FILES, or of the folder's certificates; exits with 1 when one has expired."""
    from sprocketmq.certificates import described
    from sprocketmq.cli.output.tables import show

    rows = [row for file in files or sorted(folder.glob("*.pem")) for row in described(file)]
    show(rows, as_json, empty=f"no certificates in {folder}; `sprocket certs init` begins")
    if any(row["days_left"] < 0 for row in rows):
        context.exit(1)


def _issue(folder: Path, name: str, make: Callable[[Issued], Issued]) -> PemFiles:
    from sprocketmq.certificates import read_issued

    if not (folder / "ca.key").exists():
        raise ConfigError(f"no authority in {folder}; `sprocket certs init` makes one")
    return make(read_issued(folder / "ca.pem", folder / "ca.key")).write(folder, _checked(name))


def _checked(name: str) -> str:
    """A name that becomes that of a file, beside the authority's."""
    if not _FILE_NAME.fullmatch(name) or name.startswith(".") or name == "ca":
        raise ConfigError(f"{name!r} is no name for a certificate: letters, digits, . - : and _")
    return name


def _settings(folder: Path, files: PemFiles) -> str:
    from sprocketmq.properties_file import format_properties

    return format_properties(
        {
            "tls.server.certPath": str(files.cert.absolute()),
            "tls.server.keyPath": str(files.key.absolute()),
            "tls.server.trustCertPath": str((folder / "ca.pem").absolute()),
            "tls.client.trustCertPath": str((folder / "ca.pem").absolute()),
            "tls.client.authServer": "true",
            "tls.test.mode.enable": "false",  # for Apache's servers, which would use no file else
        }
    )
