"""Accounts of RocketMQ 4 as users and policies: what `migrateAuthFromV1Enabled` makes of the files at a start.

Each access key that is no user yet becomes one, an admin a super user. Permissions become entries as RocketMQ makes
them, its default for an unknown word included (all, allowed, where RocketMQ 4 denied); that is warned of. The white
lists have no place in the new accounts and are left behind.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sprocketmq.auth.accounts import AccountStore
from sprocketmq.auth.authentication.users import UserType
from sprocketmq.auth.authorization.policies import PolicyEntry, PolicyType
from sprocketmq.auth.authorization.resources import Action, Decision, Resource, ResourceType, group, topic
from sprocketmq.auth.plain.account import PlainAccount, entry_parts
from sprocketmq.auth.plain.files import read_tree
from sprocketmq.logs import Events
from sprocketmq.protocol.names import RETRY_PREFIX

events = Events("sprocketmq.auth.migration")

_ACTIONS = {
    "PUB": (Action.PUB,),
    "SUB": (Action.SUB,),
    "PUB|SUB": (Action.PUB, Action.SUB),
    "SUB|PUB": (Action.PUB, Action.SUB),
}


def files_of(home: Path) -> list[Path]:
    below = sorted(path for path in (home / "conf" / "acl").rglob("*") if path.suffix in (".yml", ".yaml"))
    return [*below, home / "conf" / "plain_acl.yml"]


def migrate(trees: Iterable[dict[str, object]], accounts: AccountStore) -> int:
    """The number of users made. Of an access key that comes twice the first account counts, also one without secret."""
    made, seen = 0, set[str]()
    for tree in trees:
        found = tree.get("accounts")
        for each in found if isinstance(found, list) else []:
            account = PlainAccount.of(each)
            is_first = account.access_key not in seen
            seen.add(account.access_key)
            if not is_first or not _can_be_made(account, accounts):
                continue
            type_ = UserType.SUPER if account.admin else UserType.NORMAL
            accounts.create_user(account.access_key, account.secret_key, type_)
            policies = policies_of(account)
            if policies:
                accounts.put_acl(account.access_key, policies)
            made += 1
    return made


def _can_be_made(account: PlainAccount, accounts: AccountStore) -> bool:
    has_keys = account.access_key.strip() and account.secret_key.strip()
    return bool(has_keys) and accounts.find(account.access_key) is None


def migrate_home(home: Path, accounts: AccountStore) -> None:
    made = migrate((read_tree(path) for path in files_of(home)), accounts)
    events.info("accounts of RocketMQ 4 read", home=home, users=made)


def policies_of(account: PlainAccount) -> dict[PolicyType, list[PolicyEntry]]:
    custom = [_entry(topic(name), word, account) for name, word in _named(account.topic_perms)]
    custom += [
        _entry(group(name.removeprefix(RETRY_PREFIX)), word, account) for name, word in _named(account.group_perms)
    ]
    defaults = [
        _entry(Resource(type_), word, account)
        for type_, word in (
            (ResourceType.TOPIC, account.default_topic_perm),
            (ResourceType.GROUP, account.default_group_perm),
        )
        if word and word.strip()
    ]
    policies = {PolicyType.CUSTOM: custom, PolicyType.DEFAULT: defaults}
    return {type_: entries for type_, entries in policies.items() if entries}


def _named(perms: tuple[str, ...] | None) -> list[tuple[str, str]]:
    """Entries that are not `name=perm` are passed over."""
    parted = map(entry_parts, perms or ())
    return [(parts[0].strip(), parts[1]) for parts in parted if len(parts) == 2]


def _entry(resource: Resource, perm: str, account: PlainAccount) -> PolicyEntry:
    word = perm.strip()
    if word in ("DENY", ""):
        return PolicyEntry(resource, (Action.ALL,), Decision.DENY)
    if word not in _ACTIONS:
        events.warning("permission is no word of RocketMQ 4: it becomes everything", user=account.access_key, word=word)
    return PolicyEntry(resource, _ACTIONS.get(word, (Action.ALL,)), Decision.ALLOW)
