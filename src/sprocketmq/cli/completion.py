"""Names that a shell completes: topics, groups and brokers are asked of the cluster, keys and profiles are known here.

A cluster that does not answer within a second completes nothing, and says nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from sprocketmq.client.admin import AdminClient

Names = Callable[[click.Context], Iterable[str]]

_PATIENCE_S = 1.0


class Name(click.ParamType[str]):
    """A text that a shell can complete."""

    name = "text"

    def __init__(self, names: Names) -> None:
        self._names = names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(value)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        try:
            names = sorted(self._names(ctx))
        except Exception:  # noqa: BLE001 - a shell that completes must not print a traceback into the line
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _asked(ask: Callable[[AdminClient], Any]) -> Names:
    def names(ctx: click.Context) -> Iterable[str]:
        from dataclasses import replace

        from sprocketmq.cli.cluster_options import options_of, run_client
        from sprocketmq.client.admin import AdminClient

        options = replace(options_of(ctx.params), request_timeout=_PATIENCE_S, connect_timeout=_PATIENCE_S)

        async def fetch() -> Iterable[str]:
            async with AdminClient(options) as admin:
                return list(await ask(admin))

        return run_client(fetch())

    return names


async def _broker_names(admin: AdminClient) -> Iterable[str]:
    return (await admin.brokers.cluster()).broker_addr_table


def _config_keys(_: click.Context) -> Iterable[str]:
    from sprocketmq.cli.output.config_help import broker_settings

    return broker_settings()


def _profile_names(_: click.Context) -> Iterable[str]:
    from sprocketmq.cli.profiles.file import load

    return load().named


TOPIC = Name(_asked(lambda admin: admin.topics.names()))
GROUP = Name(_asked(lambda admin: admin.groups.names()))
BROKER = Name(_asked(_broker_names))
CONFIG_KEY = Name(_config_keys)
PROFILE = Name(_profile_names)


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the script that teaches SHELL to complete `sprocket`.

    \b
    bash    eval "$(sprocket completion bash)"      in ~/.bashrc
    zsh     eval "$(sprocket completion zsh)"       in ~/.zshrc
    fish    sprocket completion fish | source       in ~/.config/fish/config.fish
    """
    from click.shell_completion import get_completion_class

    from sprocketmq.cli.main import main

    found = get_completion_class(shell)
    assert found is not None
    click.echo(found(main, {}, "sprocket", "_SPROCKET_COMPLETE").source())
