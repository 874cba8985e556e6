"""What the commands that talk to a cluster share: where it is, how to run them, and what to say when it fails.

An option's value comes from the command line, else from the environment, else from the profile, else from its default.
Secrets need not be on the command line, where other users of the machine see them: they come from SPROCKET_SECRET_KEY
and SPROCKET_TOKEN, or from files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sprocketmq.cli.arguments import check_unicode
from sprocketmq.cli.completion import PROFILE

if TYPE_CHECKING:
    import ssl

    from sprocketmq.client import errors
    from sprocketmq.client.options import ClientOptions, Credentials

DEFAULT_NAMESERVER = "127.0.0.1:9876"

C = TypeVar("C", bound=Callable[..., Any])
T = TypeVar("T")

_OPTIONS = (
    click.option("--profile", type=PROFILE, envvar="SPROCKET_PROFILE", help="The profile to use."),
    click.option("-n", "--nameserver", envvar=["SPROCKET_NAMESERVER", "NAMESRV_ADDR"], show_envvar=True,
                 show_default=DEFAULT_NAMESERVER, help="HOST:PORT, several separated by ';'."),
    click.option("--namespace", envvar="SPROCKET_NAMESPACE", help="The namespace of topics and groups."),
    click.option("--access-key", envvar="SPROCKET_ACCESS_KEY", help="The account, for clusters with access control."),
    click.option("--secret-key", envvar="SPROCKET_SECRET_KEY",
                 help="Its secret. Prefer SPROCKET_SECRET_KEY or a file: others can see the command line."),
    click.option("--secret-key-file", envvar="SPROCKET_SECRET_KEY_FILE", help="A file that holds the secret key."),
    click.option("--token", envvar="SPROCKET_TOKEN", help="The security token of temporary keys."),
    click.option("--token-file", envvar="SPROCKET_TOKEN_FILE", help="A file that holds the token."),
    click.option("--tls/--no-tls", default=None, envvar="SPROCKET_TLS", help="Encrypt every connection."),
    click.option("--tls-ca", envvar="SPROCKET_TLS_CA", help="CA certificates to trust, PEM; by default the system's."),
    click.option("--tls-cert", envvar="SPROCKET_TLS_CERT", help="The client certificate, PEM."),
    click.option("--tls-key", envvar="SPROCKET_TLS_KEY", help="The certificate's key, PEM, if in another file."),
    click.option("--tls-key-password-file", envvar="SPROCKET_TLS_KEY_PASSWORD_FILE",
                 help="A file that holds the key's password."),
    click.option("--tls-verify/--tls-no-verify", default=None, envvar="SPROCKET_TLS_VERIFY",
                 help="Verify the servers' certificates."),
    click.option("--tls-check-hostname/--tls-no-check-hostname", default=None, envvar="SPROCKET_TLS_CHECK_HOSTNAME",
                 help="Check that certificates match the servers' addresses."),
)  # fmt: skip
_NAMES = (
    "profile", "nameserver", "namespace", "access_key", "secret_key", "secret_key_file", "token", "token_file", "tls",
    "tls_ca", "tls_cert", "tls_key", "tls_key_password_file", "tls_verify", "tls_check_hostname",
)  # fmt: skip


def cluster_options(command: C) -> C:
    """--nameserver and all that belongs to it; the command gets them as one `options` argument."""
    return _collected(command, _NAMES, lambda given: {"options": options_of(given)})


def connection_options(command: C) -> C:
    """What belongs to a nameserver that a command may go without; it gets them as one `connecting` argument."""
    return _collected(command, tuple(set(_NAMES) - {"nameserver"}), lambda given: {"connecting": given})


def _collected(command: C, names: tuple[str, ...], made: Callable[[dict[str, Any]], dict[str, Any]]) -> C:
    """The command with the options of these names, of which it gets what is `made`."""

    @functools.wraps(command)
    def wrapped(**given: Any) -> Any:
        check_unicode(click.get_current_context())
        return command(**made({name: given.pop(name) for name in names}), **given)

    decorated: Any = wrapped
    for name, option in reversed(list(zip(_NAMES, _OPTIONS, strict=True))):
        decorated = option(decorated) if name in names else decorated
    result: C = decorated
    return result


def options_of(given: Mapping[str, Any]) -> ClientOptions:
    """The client's options; what is None in `given` is the profile's to say."""
    from sprocketmq.client.options import ClientOptions

    values = _with_profile(given)
    nameserver = values.get("nameserver") or DEFAULT_NAMESERVER
    told = {"namespace": values.get("namespace"), "credentials": _credentials(values), "ssl": _ssl(values)}
    changes = {name: each for name, each in told.items() if each is not None}  # a URL may say the rest
    if values.get("tls") is False:
        changes["ssl"] = None
    return ClientOptions.of(nameserver, **changes)


def _with_profile(given: Mapping[str, Any]) -> dict[str, Any]:
    from sprocketmq.cli.profiles import file

    profiles = file.load()
    chosen = given.get("profile") or profiles.current
    return {**(profiles.get(chosen) if chosen else {}), **{k: v for k, v in given.items() if v not in (None, "")}}


#: As Spark's sources and sinks call them.
_SPARK_NAMES = {
    "namespace": "namespace", "access_key": "accessKey", "secret_key": "secretKey", "token": "securityToken",
    "tls": "tls", "tls_ca": "tlsCaFile", "tls_cert": "tlsCertFile", "tls_key": "tlsKeyFile",
    "tls_key_password": "tlsKeyPassword", "tls_verify": "tlsVerify", "tls_check_hostname": "tlsCheckHostname",
}  # fmt: skip


def spark_options_of(connecting: Mapping[str, Any]) -> dict[str, str]:
    """The same for Spark, which makes its clients in other processes; secrets are read from their files here."""
    values = _with_profile(connecting)
    secrets = {name: _secret(values, name) for name in ("secret_key", "token", "tls_key_password")}
    tls = values.get("tls", any(values.get(name) for name in _FILES)) or None
    found = {**values, **secrets, "tls": tls}
    names = _SPARK_NAMES if tls else {key: name for key, name in _SPARK_NAMES.items() if not key.startswith("tls")}
    return {name: _text(found[key]) for key, name in names.items() if found.get(key) not in (None, "")}


def environment_of(context: click.Context) -> dict[str, str]:
    """What a command was told of its cluster, for one that it starts: command lines are seen by others of the machine.

    Where the cluster is, is left out: that is no secret, and not every command takes it from there.
    """
    told = ((option.envvar, context.params.get(option.name or "")) for option in context.command.params)
    return {name: _text(value) for name, value in told if isinstance(name, str) and value not in (None, "")}


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _credentials(values: Mapping[str, Any]) -> Credentials | None:
    from sprocketmq.client.options import Credentials
    from sprocketmq.errors import ConfigError

    access_key, secret_key = values.get("access_key"), _secret(values, "secret_key")
    if bool(access_key) != bool(secret_key):
        raise ConfigError("an access key and a secret key go together")
    return Credentials(access_key, secret_key, _secret(values, "token")) if access_key and secret_key else None


def _secret(values: Mapping[str, Any], name: str) -> str | None:
    if values.get(name):
        return str(values[name])
    file = values.get(f"{name}_file")
    return None if not file else _read(file).strip()


def _read(file: str) -> str:
    from sprocketmq.errors import ConfigError

    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None


def _ssl(values: Mapping[str, Any]) -> ssl.SSLContext | None:
    """Naming a certificate asks for TLS as well."""
    files = {name.removeprefix("tls_"): values.get(name) or None for name in _FILES}
    if not values.get("tls", any(files.values())):
        return None
    from sprocketmq.client.options import tls_context

    return tls_context(
        **files,
        key_password=_secret(values, "tls_key_password") or "",
        verify=values.get("tls_verify", True),
        check_hostname=values.get("tls_check_hostname", True),
    )


_FILES = ("tls_ca", "tls_cert", "tls_key")


class CountCommand(click.Command):
    """A command whose count was -n before -n was the nameserver everywhere: a number there is still a count."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, _counts(list(args), ctx.resilient_parsing))


def _counts(args: list[str], quiet: bool) -> list[str]:
    for at, word in enumerate(args):
        if word == "--":
            break
        attached = word[2:] if word.startswith("-n") else ""
        following = args[at + 1] if word == "-n" and at + 1 < len(args) else ""
        if attached.isdecimal() or following.isdecimal():
            if not quiet:
                click.echo("sprocket: -n is the nameserver now; -c or --count is the count", err=True)
            args[at] = f"--count={attached}" if attached else "--count"
    return args


def json_option(command: C) -> C:
    return click.option("--json", "as_json", is_flag=True, help="JSON instead of a table.")(command)


def run_client(work: Coroutine[Any, Any, T]) -> T:
    """Run `work` on an event loop; a failure becomes one line that says what to do next."""
    try:
        from sprocketmq.client.errors import ClientError, InvalidMessage, InvalidName
        from sprocketmq.errors import ConfigError, SprocketError
        from sprocketmq.remoting.loop import run

        try:
            return run(work)
        except (InvalidMessage, InvalidName) as error:
            raise ConfigError(str(error)) from None
        except ClientError as error:
            raise SprocketError(f"{str(error).rstrip('.')}. {advice(error)}".rstrip()) from None
    finally:
        work.close()  # a ^C may come before it has begun


def advice(error: Exception) -> str:
    from sprocketmq.client import errors
    from sprocketmq.codes import ResponseCode

    if "certificate" in str(error) or " alert " in str(error):
        return "--tls-ca names whom to trust, --tls-cert and --tls-key our own certificate."
    if isinstance(error, errors.Offline) and any(words in str(error) for words in _HANGS_UP):
        return "It hangs up: does it want --tls, or no TLS?"
    if isinstance(error, errors.Offline):
        return "Is it running? `sprocket up` starts one; --nameserver or SPROCKET_NAMESERVER says where it is."
    if isinstance(error, errors.NoBroker):
        return "`sprocket cluster` shows the brokers."
    if isinstance(error, errors.NoRoute):
        return "`sprocket topic list` shows the topics, `sprocket topic create` makes one."
    if isinstance(error, errors.Refused):
        return _permission(error) or {
            int(ResponseCode.CONSUMER_NOT_ONLINE): "No consumer of the group is connected; start one and try again.",
            int(ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST): "`sprocket group list` shows the groups.",
            int(ResponseCode.REQUEST_CODE_NOT_SUPPORTED): _UNKNOWN_REQUEST,
        }.get(error.code, "")
    if isinstance(error, (errors.Unreachable, errors.TimedOut)):
        return "`sprocket cluster` shows which brokers answer."
    return ""


def _permission(error: errors.Refused) -> str:
    """Of a topic; brokers refuse changes of their settings and of accounts with the same code, and say why."""
    from sprocketmq.codes import ResponseCode

    if error.code != ResponseCode.NO_PERMISSION or any(words in (error.remark or "") for words in _SAYS_WHY):
        return ""
    if error.remark == "username cannot be null.":
        return "The broker has accounts: give --access-key, and the secret in SPROCKET_SECRET_KEY."
    return "Check the permissions of the topic and the --access-key."


#: Of refusals that are not about permissions.
_SAYS_WHY = ("cannot be changed", "is existed", "is not exist")


#: What is said of a server that takes a connection and ends it, and of one that does not know what TLS is.
_HANGS_UP = ("was lost", "is closed", "TLS handshake")
_UNKNOWN_REQUEST = "It is too old for this request, or a broker where a nameserver was expected (--nameserver)."
