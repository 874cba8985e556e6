"""mqadmin's words become ours, and what they become is a command that exists."""

from __future__ import annotations

import click
import pytest

from sprocketmq.cli.main import main
from sprocketmq.cli.mqadmin.command import translate
from sprocketmq.cli.mqadmin.tasks import TASKS, Flag, Option, Switch, mqadmin_time
from sprocketmq.errors import ConfigError


def command_of(words: tuple[str, ...]) -> tuple[click.Command, tuple[str, ...]]:
    """Our command, and the words behind it."""
    found: click.Command = main
    rest = words
    while isinstance(found, click.Group) and rest and not rest[0].startswith("-"):
        inner = found.get_command(click.Context(found), rest[0])
        assert inner is not None, words
        found, rest = inner, rest[1:]
    return found, rest


@pytest.mark.parametrize("name", list(TASKS))
def test_every_option_exists_in_our_command(name: str) -> None:
    task = TASKS[name]
    command, _ = command_of(task.words)
    known = {opt for param in command.params for opt in (*param.opts, *param.secondary_opts)}
    used = {meaning.name for meaning in task.options.values() if isinstance(meaning, (Option, Switch, Flag))}
    assert used | {word for word in task.always if word.startswith("--")} <= known


@pytest.mark.parametrize(
    ("line", "ours"),
    [
        ("topicRoute -n a:1 -t orders", "topic route --nameserver=a:1 -- orders"),
        ("updateTopic -c DefaultCluster -t o -r 8 -w 8 -o true",
         "topic create --cluster=DefaultCluster --read-queues=8 --queues=8 --order -- o"),
        ("updateTopic --topic o --brokerAddr=h:1", "topic create --broker=h:1 -- o"),
        ("deleteTopic -t o -c c", "topic delete --yes --cluster=c -- o"),
        ("consumerProgress -g billing", "group lag -- billing"),
        ("consumerProgress", "group list --details"),
        ("updateSubGroup -g g -s false -d true", "group create --disabled -- g"),
        ("resetOffsetByTime -t o -g g -s 1700000000000", "offset reset --yes --to-time=1700000000000 -- g o"),
        ("updateBrokerConfig -b h:1 -k a -v b", "broker config -- h:1 a b"),
        ("createAcl -s User:a -r Topic:t -a Pub -d Deny", "acl add --deny -- a Topic:t Pub"),
        ("createAcl -s User:a -r Topic:t -a Pub -d ALLOW", "acl add -- a Topic:t Pub"),
        ("createUser -u a -p b -t Super", "user add --password=b --super -- a"),
        ("updateUser -u a -t Normal -s disable", "user change --normal --disable -- a"),
        ("listUser -c one", "user list --cluster=one"),
        ("clusterList -m", "cluster"),
        ("topicStatus -t o -- --json", "topic status --json -- o"),
    ],
)  # fmt: skip
def test_words(line: str, ours: str) -> None:
    name, *words = line.split()
    assert " ".join(translate(TASKS[name], name, words)) == ours


@pytest.mark.parametrize(
    "line",
    [
        "topicRoute -x y",
        "topicRoute orders",
        "topicRoute -t",
        "createAcl -s User:a -r Topic:t -a Pub -d Denny",
        "updateSubGroup -g g -s no",
        "updateBrokerConfig -k a -v b",
        "updateBrokerConfig -c one -k a -v b",
        "deleteSubGroup -b h:1 -g g",
    ],
)
def test_what_is_not_understood(line: str) -> None:
    name, *words = line.split()
    with pytest.raises(ConfigError, match=f"mqadmin {name}"):
        translate(TASKS[name], name, words)


def test_times() -> None:
    assert mqadmin_time("2026-11-15#19:27:02:123") == "2026-11-15T19:27:02.123"
    assert mqadmin_time("now").isdecimal()
    with pytest.raises(ConfigError):
        mqadmin_time("yesterday")
