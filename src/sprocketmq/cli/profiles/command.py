"""`sprocket profile list|show|use|set|remove`."""

from __future__ import annotations

import click

from sprocketmq.cli.cluster_options import json_option
from sprocketmq.cli.completion import PROFILE
from sprocketmq.cli.output.tables import show, show_one
from sprocketmq.cli.profiles import file
from sprocketmq.errors import ConfigError


@click.group()
def profile() -> None:
    """Named clusters: addresses, accounts and TLS."""


@profile.command("list")
@json_option
def list_profiles(as_json: bool) -> None:
    """List the profiles. Commands without --profile use the current one."""
    profiles = file.load()
    rows = (
        {"profile": name, "current": name == profiles.current, "nameserver": entries.get("nameserver")}
        for name, entries in sorted(profiles.named.items())
    )
    show(rows, as_json, empty="no profiles yet; `sprocket profile set NAME nameserver=HOST:PORT` makes one")


@profile.command("show")
@click.argument("name", required=False, type=PROFILE)
@json_option
def show_profile(name: str | None, as_json: bool) -> None:
    """Show the profile NAME, or the current one, without its secrets."""
    profiles = file.load()
    chosen = name or profiles.current
    if chosen is None:
        raise ConfigError("no profile is in use; `sprocket profile list` shows all")
    entries = profiles.get(chosen)
    show_one({key: "***" if key in file.SECRETS else value for key, value in entries.items()}, as_json, names=str)


@profile.command()
@click.argument("name", required=False, type=PROFILE)
@click.option("--none", "nobody", is_flag=True, help="Use no profile from now on.")
def use(name: str | None, nobody: bool) -> None:
    """Use the profile NAME from now on."""
    if (name is None) != nobody:
        raise click.UsageError("give a NAME, or --none")
    profiles = file.load()
    if name is not None:
        profiles.get(name)
    profiles.current = name
    file.save(profiles)
    click.echo("no profile is in use" if name is None else f"using {name}")


@profile.command("set")
@click.argument("name", type=PROFILE)
@click.argument("entries", nargs=-1, required=True, metavar="KEY=VALUE...")
def set_entries(name: str, entries: tuple[str, ...]) -> None:
    """Create or change the profile NAME; an empty VALUE removes the key.

    Keys: nameserver, namespace, access_key, secret_key_file, token_file, tls, tls_ca, tls_cert, tls_key,
    tls_key_password_file, tls_verify, tls_check_hostname.
    """
    profiles = file.load()
    changed = dict(profiles.named.get(file.check_name(name), {}))
    for text in entries:
        key, separator, value = text.partition("=")
        if not separator:
            raise ConfigError(f"{text!r}: expected KEY=VALUE")
        parsed = file.parse(key, value or "false")
        changed.pop(key, None)
        if value:
            changed[key] = parsed
    profiles.named[name] = changed
    file.save(profiles)
    click.echo(f"{name} is in {file.path()}")


@profile.command()
@click.argument("name", type=PROFILE)
def remove(name: str) -> None:
    """Delete the profile NAME."""
    profiles = file.load()
    profiles.get(name)
    del profiles.named[name]
    if profiles.current == name:
        profiles.current = None
    file.save(profiles)
    click.echo(f"removed {name}")
