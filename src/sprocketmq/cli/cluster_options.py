"""What the commands that talk to a cluster share: where it is, how to run them, and what to say when it fails."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from sprocketmq.client.options import ClientOptions

DEFAULT_NAMESERVER = "127.0.0.1:9876"

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")


def cluster_options(command: C) -> C:
    """--nameserver, --namespace and credentials; the command gets them as one `options` argument."""

    @functools.wraps(command)
    def wrapped(nameserver: str, namespace: str, access_key: str | None, secret_key: str | None, **more: Any) -> Any:
        return command(options=_options(nameserver, namespace, access_key, secret_key), **more)

    decorated: Any = wrapped
    for option in reversed((
        click.option("--nameserver", envvar=["SPROCKET_NAMESERVER", "NAMESRV_ADDR"], default=DEFAULT_NAMESERVER,
                     show_default=True, show_envvar=True, help="HOST:PORT, several separated by ';'."),
        click.option("--namespace", default="", help="The namespace of topics and groups."),
        click.option("--access-key", envvar="SPROCKET_ACCESS_KEY", help="For clusters with access control."),
        click.option("--secret-key", envvar="SPROCKET_SECRET_KEY", help="For clusters with access control."),
    )):  # fmt: skip
        decorated = option(decorated)
    result: C = decorated
    return result


def _options(nameserver: str, namespace: str, access_key: str | None, secret_key: str | None) -> ClientOptions:
    from sprocketmq.client.options import ClientOptions, Credentials
    from sprocketmq.errors import ConfigError

    if bool(access_key) != bool(secret_key):
        raise ConfigError("an access key and a secret key go together")
    credentials = Credentials(access_key, secret_key) if access_key and secret_key else None
    return ClientOptions.of(nameserver, namespace=namespace, credentials=credentials)


def json_option(command: C) -> C:
    return click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")(command)


def run_client(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on an event loop; a failure becomes one line that says what to do next."""
    from sprocketmq.client.errors import ClientError, InvalidMessage
    from sprocketmq.errors import ConfigError, SprocketError
    from sprocketmq.remoting.loop import run

    try:
        return run(work)
    except InvalidMessage as error:
        raise ConfigError(str(error)) from None
    except ClientError as error:
        raise SprocketError(f"{error}. {advice(error)}".rstrip()) from None


def advice(error: Exception) -> str:
    from sprocketmq.client import errors
    from sprocketmq.codes import ResponseCode

    if isinstance(error, errors.Offline):
        return "Is it running? `sprocket up` starts one; --nameserver or SPROCKET_NAMESERVER says where it is."
    if isinstance(error, errors.NoBroker):
        return "`sprocket cluster` shows the brokers."
    if isinstance(error, errors.NoRoute):
        return "`sprocket topic list` shows the topics, `sprocket topic create` makes one."
    if isinstance(error, errors.Refused):
        return {
            int(ResponseCode.CONSUMER_NOT_ONLINE): "No consumer of the group is connected; start one and try again.",
            int(ResponseCode.NO_PERMISSION): "Check the permissions of the topic and the --access-key.",
            int(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST): "`sprocket group list` shows the groups.",
            int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED): "The broker is too old for this request.",
        }.get(error.code, "")
    if isinstance(error, (errors.Unreachable, errors.TimedOut)):
        return "`sprocket cluster` shows which brokers answer."
    return ""
