"""`sprocket acl`: what users may do, and why."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sprocketmq.cli.admin.account_options import Target, account_options
from sprocketmq.cli.cluster_options import json_option
from sprocketmq.cli.output.confirm import confirm
from sprocketmq.cli.output.tables import echo_json, say, show, show_one
from sprocketmq.errors import ConfigError

if TYPE_CHECKING:
    from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo


@click.group()
def acl() -> None:
    """List, add, change, remove and try out the policies of users."""


@acl.command("list")
@click.argument("name", required=False)
@click.option("--resource", help="Only entries whose resource contains this.")
@json_option
@account_options
def list_acls(target: Target, name: str | None, resource: str | None, as_json: bool) -> None:
    """The policies, of all users or of those whose name contains NAME."""

    async def rows(accounts: Any) -> list[dict[str, Any]]:
        return [
            {
                "user": each.subject.removeprefix("User:"), "policy": policy.policy_type.lower(),
                "decision": entry.decision, "actions": ",".join(entry.actions), "resource": entry.resource,
                "from": ",".join(entry.source_ips) or "everywhere",
            }
            for each in await accounts.acls(name, resource)
            for policy in each.policies
            for entry in policy.entries
        ]  # fmt: skip

    show(target.run(rows), as_json, empty="no policies")


def _entry(name: str, resource: str, actions: str, deny: bool, sources: str, default: bool) -> AclInfo:
    from sprocketmq.auth.bodies import policies_of
    from sprocketmq.errors import RequestRefused
    from sprocketmq.protocol.bodies.acl import AclInfo, PolicyEntryInfo, PolicyInfo

    entry = PolicyEntryInfo(
        resource=resource,
        actions=tuple(word.strip().capitalize() for word in actions.split(",") if word.strip()),
        source_ips=tuple(word.strip() for word in sources.split(",") if word.strip()),
        decision="Deny" if deny else "Allow",
    )
    policy = PolicyInfo(policy_type="Default" if default else "Custom", entries=(entry,))
    made = AclInfo(subject=f"User:{name}", policies=(policy,))
    _check_words(entry)
    try:
        policies_of(made)
    except RequestRefused as refused:
        raise ConfigError(f"{resource} {actions}: {refused.remark}") from None
    return made


def _check_words(entry: PolicyEntryInfo) -> None:
    """What RocketMQ passes over, or says in words that nobody could guess."""
    from sprocketmq.auth.authorization.resources import Action, by_word, parse_resource

    if parse_resource(entry.resource) is None:
        raise ConfigError(f"{entry.resource}: no resource; say Topic:NAME, Group:NAME, Cluster:NAME or *")
    for word in entry.actions:
        if by_word(Action, word) is None:
            raise ConfigError(f"{word}: no action; {', '.join(each.word for each in Action)} are")


def _put(done: str) -> Any:
    @click.argument("name")
    @click.argument("resource")
    @click.argument("actions")
    @click.option("--deny", is_flag=True, help="Forbid instead of allow.")
    @click.option(
        "--from", "sources", default="", help="Addresses and CIDR blocks, separated by commas; by default all."
    )
    @click.option("--default", is_flag=True, help="Applies when no other entry matches.")
    @json_option
    @account_options
    def put(
        target: Target, name: str, resource: str, actions: str, deny: bool, sources: str, default: bool, as_json: bool
    ) -> None:
        """Let user NAME do ACTIONS (Pub,Sub,Create,Update,Delete,Get,List or All) on RESOURCE: Topic:NAME, Topic:PRE*,
        Topic:*, the same with Group and Cluster, or *. An entry for a resource that has one takes its place.
        """
        made = _entry(name, resource, actions, deny, sources, default)
        where = target.run(lambda accounts: accounts.put_acl(made))
        row = {"user": name, "resource": resource, "where": where}
        say(row, f"policy of {name} on {resource} {done} on {', '.join(where)}", as_json)

    return put


acl.command("add")(_put("added"))
acl.command("change")(_put("changed"))


@acl.command()
@click.argument("name")
@click.argument("resource", required=False)
@click.option("--default", is_flag=True, help="Of the default policy.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@account_options
def remove(target: Target, name: str, resource: str | None, default: bool, yes: bool, as_json: bool) -> None:
    """Remove what user NAME has on RESOURCE, or all of its policies."""
    if not yes:
        confirm(f"Remove the policies of {name}{f' on {resource}' if resource else ''}?")
    kind = "Default" if default else "Custom"

    async def take(accounts: Any) -> list[str]:
        if not _has_policy(await accounts.acls(f"User:{name}"), name, resource, kind):
            on_it = f" on {resource}" if resource else ""
            raise ConfigError(f"{name} has no policy{on_it}; `sprocket acl list` shows them")
        where: list[str] = await accounts.remove_acl(name, resource, kind if resource else None)
        return where

    where = target.run(take)
    say({"user": name, "resource": resource, "where": where}, f"policies of {name} removed", as_json)


def _has_policy(acls: Sequence[AclInfo], name: str, resource: str | None, kind: str) -> bool:
    """Of this kind on `resource`; without one, any."""
    from sprocketmq.auth.authorization.resources import parse_resource

    policies = [policy for each in acls if each.subject == f"User:{name}" for policy in each.policies]
    if resource is None:
        return bool(policies)
    held = [entry.resource for policy in policies if policy.policy_type == kind for entry in policy.entries]
    return str(parse_resource(resource)) in held


@acl.command()
@click.argument("name")
@click.argument("action")
@click.argument("resource")
@click.option("--from", "address", default="127.0.0.1", show_default=True, help="Where the request comes from.")
@json_option
@account_options
def test(target: Target, name: str, action: str, resource: str, address: str, as_json: bool) -> None:
    """May user NAME do ACTION on RESOURCE, and why? Exit code 0 when it may, 1 when not."""
    from sprocketmq.auth.explain import explain

    async def ask(accounts: Any) -> tuple[bool, str]:
        users = {user.username: user for user in await accounts.users(name)}
        acls = {each.subject: each for each in await accounts.acls(f"User:{name}")}
        return explain(users.get(name), acls.get(f"User:{name}"), action, resource, address)

    allowed, why = target.run(ask)
    row = {"user": name, "action": action, "resource": resource, "from": address, "allowed": allowed, "why": why}
    if as_json:
        echo_json(row)
    else:
        show_one({"allowed": "yes" if allowed else "no", "why": why}, False)
    sys.exit(0 if allowed else 1)


@acl.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@json_option
@account_options
def export(target: Target, file: Path | None, as_json: bool) -> None:
    """Write all policies to FILE as JSON, or to standard output. Users are not in it: they have secrets."""
    from sprocketmq.protocol.bodies import codec

    async def fetch(accounts: Any) -> Sequence[AclInfo]:
        found: Sequence[AclInfo] = await accounts.acls()
        return found

    trees = [codec.to_tree(each) for each in target.run(fetch)]
    if file is None:
        echo_json(trees)
    else:
        import orjson

        file.write_bytes(orjson.dumps(trees, option=orjson.OPT_INDENT_2) + b"\n")
        say({"users": len(trees), "file": str(file)}, f"policies of {len(trees)} users written to {file}", as_json)


@acl.command("import")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@json_option
@account_options
def import_(target: Target, file: Path, as_json: bool) -> None:
    """Add the policies in FILE, as `export` writes it. Their users must be there."""
    acls = _read(file)

    async def put(accounts: Any) -> int:
        for each in acls:
            await accounts.put_acl(each)
        return len(acls)

    count = target.run(put)
    say({"users": count}, f"policies of {count} users added", as_json)


def _read(file: Path) -> list[AclInfo]:
    import orjson

    from sprocketmq.auth.bodies import policies_of
    from sprocketmq.errors import BodyError, RequestRefused
    from sprocketmq.protocol.bodies import codec
    from sprocketmq.protocol.bodies.acl import AclInfo

    try:
        acls = [codec.from_tree(AclInfo, tree) for tree in orjson.loads(file.read_bytes())]
        for each in acls:
            policies_of(each)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except (orjson.JSONDecodeError, BodyError, TypeError, RequestRefused) as error:
        raise ConfigError(f"{file}: not policies as `sprocket acl export` writes them: {error}") from None
    return acls
