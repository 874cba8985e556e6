"""`sprocket user`: who may sign requests."""

from __future__ import annotations

import secrets
import sys
from typing import Any

import click

from sprocketmq.cli.admin.account_options import Target, account_options
from sprocketmq.cli.cluster_options import json_option
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import say, show
from sprocketmq.errors import ConfigError


@click.group()
def user() -> None:
    """List, add, change and remove the users of brokers with accounts."""


@user.command("list")
@click.argument("part", required=False)
@json_option
@account_options
def list_users(target: Target, part: str | None, as_json: bool) -> None:
    """The users whose name contains PART. Secrets are not shown."""

    async def rows(accounts: Any) -> list[dict[str, Any]]:
        return [
            {"user": each.username, "type": each.user_type, "status": each.user_status, "strict": bool(each.strict)}
            for each in await accounts.users(part)
        ]

    show(target.run(rows), as_json, empty="no users")


def _password(given: str | None, from_stdin: bool, random: bool) -> tuple[str, bool]:
    """The secret, and whether it is a new one that must be shown."""
    if sum([given is not None, from_stdin, random]) > 1:
        raise ConfigError("--password, --password-stdin and --random exclude one another")
    if random:
        return secrets.token_urlsafe(24), True
    if from_stdin:
        return sys.stdin.readline().rstrip("\n"), False
    if given is not None:
        return given, False
    return click.prompt("password", hide_input=True, confirmation_prompt=True, err=True), False


def _secret_options(command: Any) -> Any:
    for option in (
        click.option("--random", is_flag=True, help="Generate the secret and print it once."),
        click.option("--password-stdin", "from_stdin", is_flag=True, help="Read the secret from standard input."),
        click.option("--password", help="The secret. Prefer --password-stdin: other users can see the command line."),
    ):
        command = option(command)
    return command


@user.command()
@click.argument("name")
@_secret_options
@click.option("--super", "is_super", is_flag=True, help="May do everything, and change accounts.")
@click.option("--strict", is_flag=True, help="Its requests must carry a signed time, number and code.")
@click.option("--disabled", is_flag=True, help="Create the user, but do not let it sign in yet.")
@json_option
@account_options
def add(
    target: Target, name: str, password: str | None, from_stdin: bool, random: bool, is_super: bool, strict: bool,
    disabled: bool, as_json: bool,
) -> None:  # fmt: skip
    """Add the user NAME. With --store the first super user of a broker that is stopped."""
    from sprocketmq.protocol.bodies.acl import UserInfo

    secret, is_new = _password(password, from_stdin, random)
    made = UserInfo(
        username=name, password=secret, user_type="Super" if is_super else "Normal",
        user_status="disable" if disabled else "enable", strict=strict or None,
    )  # fmt: skip
    where = target.run(lambda accounts: accounts.add_user(made), may_begin=True)
    row = {"user": name, "where": where, **({"password": secret} if is_new else {})}
    say(row, f"{name} added on {', '.join(where)}" + (f"\npassword: {secret}" if is_new else ""), as_json)


@user.command()
@click.argument("name")
@click.option("--new-password", "ask", is_flag=True, help="Ask for a new secret.")
@_secret_options
@click.option("--super/--normal", "is_super", default=None, help="Make it a super user, or a normal one.")
@click.option("--enable/--disable", "enabled", default=None, help="Let it in, or not.")
@click.option("--strict/--no-strict", default=None, help="Whether they must carry a signed time, number and code.")
@json_option
@account_options
def change(
    target: Target, name: str, ask: bool, password: str | None, from_stdin: bool, random: bool, is_super: bool | None,
    enabled: bool | None, strict: bool | None, as_json: bool,
) -> None:  # fmt: skip
    """Change the user NAME; what is not given stays as it is."""
    from sprocketmq.protocol.bodies.acl import UserInfo

    secret, is_new = None, False
    if ask or password is not None or from_stdin or random:
        secret, is_new = _password(password, from_stdin, random)
    changed = UserInfo(
        username=name, password=secret,
        user_type=None if is_super is None else "Super" if is_super else "Normal",
        user_status=None if enabled is None else "enable" if enabled else "disable",
        strict=strict,
    )  # fmt: skip
    where = target.run(lambda accounts: accounts.change_user(changed))
    row = {"user": name, "where": where, **({"password": secret} if is_new else {})}
    say(row, f"{name} changed on {', '.join(where)}" + (f"\npassword: {secret}" if is_new else ""), as_json)


@user.command()
@click.argument("name")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@account_options
def remove(target: Target, name: str, yes: bool, as_json: bool) -> None:
    """Remove the user NAME with its policies."""
    if not yes:
        confirm(f"Remove user {name} and its policies?")

    async def take(accounts: Any) -> list[str]:
        if name not in [each.username for each in await accounts.users(name)]:
            raise ConfigError(f"there is no user {name}; `sprocket user list` shows them")
        where: list[str] = await accounts.remove_user(name)
        return where

    where = target.run(take)
    say({"user": name, "where": where}, f"{name} removed on {', '.join(where)}", as_json)
