"""`sprocket check`: is all well? For Nagios, Icinga, cron and probes.

Exit codes are those of monitoring plugins: 0 all is well, 1 a warning, 2 critical, 3 nobody can tell. The first line
says the worst; figures follow behind a `|`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from sprocketmq.cli.cluster_options import cluster_options, json_option, run_client
from sprocketmq.cli.completion import GROUP
from sprocketmq.cli.output.tables import echo_json

if TYPE_CHECKING:
    from sprocketmq.client.admin import AdminClient
    from sprocketmq.client.admin.brokers import BrokerStatus
    from sprocketmq.client.admin.groups import GroupFigures
    from sprocketmq.client.options import ClientOptions


class Health(IntEnum):
    OK = 0
    WARNING = 1
    CRITICAL = 2
    UNKNOWN = 3


#: From well to worst: what is known to be broken is worse than what nobody can tell.
_BY_GRAVITY = (Health.OK, Health.WARNING, Health.UNKNOWN, Health.CRITICAL)


@dataclass(frozen=True, slots=True)
class CheckResult:
    check: str
    health: Health
    detail: str
    value: float | None = None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """At `warning` and more it is a warning, at `critical` and more it is critical."""

    warning: float
    critical: float

    def judge(self, value: float) -> Health:
        return Health.CRITICAL if value >= self.critical else Health.WARNING if value >= self.warning else Health.OK


class CheckCommand(click.Command):
    """A call that is wrong tells nothing of the cluster."""

    usage_exit = int(Health.UNKNOWN)

    def invoke(self, ctx: click.Context) -> Any:
        from sprocketmq.errors import ConfigError

        try:
            return super().invoke(ctx)
        except ConfigError as error:
            raise click.UsageError(str(error), ctx) from None


@click.command(cls=CheckCommand)
@click.option("--brokers", type=click.IntRange(0), default=1, show_default=True, help="How many brokers must answer.")
@click.option("--disk-warning", default=75.0, show_default=True, metavar="PERCENT")
@click.option("--disk-critical", default=90.0, show_default=True, metavar="PERCENT")
@click.option("--group", "groups", multiple=True, type=GROUP, help="Look at the lag of this group; may be repeated.")
@click.option("--lag-warning", default=10_000, show_default=True, metavar="MESSAGES", help="Of each --group.")
@click.option("--lag-critical", default=100_000, show_default=True, metavar="MESSAGES", help="Of each --group.")
@click.option("--online", is_flag=True, help="Each --group must have a consumer that is connected.")
@json_option
@cluster_options
@click.pass_context
def check(
    ctx: click.Context, /, options: ClientOptions, brokers: int, disk_warning: float, disk_critical: float,
    groups: tuple[str, ...], lag_warning: int, lag_critical: int, online: bool, as_json: bool,
) -> None:  # fmt: skip
    """Whether brokers answer, disks have room, groups keep up. Ends with 0 well, 1 warning, 2 critical, 3 unknown."""
    if not groups and (unused := [name for name in _OF_GROUPS if _is_given(ctx, name)]):
        raise click.UsageError(f"--{unused[0].replace('_', '-')} looks at groups: name them by --group", ctx)
    disk, lag = Thresholds(disk_warning, disk_critical), Thresholds(lag_warning, lag_critical)
    findings = _judged(options, brokers, disk, groups, lag, online)
    worst = _worst(findings)
    if as_json:
        echo_json(_row(worst, findings))
    else:
        click.echo(_line(worst, findings))
    ctx.exit(int(worst))


_OF_GROUPS = ("lag_warning", "lag_critical", "online")


def _is_given(ctx: click.Context, name: str) -> bool:
    return ctx.get_parameter_source(name) is not ParameterSource.DEFAULT


def _worst(findings: Iterable[CheckResult]) -> Health:
    return max((finding.health for finding in findings), key=_BY_GRAVITY.index)


def _judged(
    options: ClientOptions, brokers: int, disk: Thresholds, groups: tuple[str, ...], lag: Thresholds, online: bool
) -> list[CheckResult]:
    from sprocketmq.errors import SprocketError

    async def look() -> list[CheckResult]:
        from sprocketmq.client.admin import AdminClient

        async with AdminClient(options) as admin:
            found = _brokers(await admin.brokers.status(), brokers, disk)
            for group in groups:
                found += await _group(admin, group, lag, online)
            return found

    try:
        return run_client(look())
    except SprocketError as error:
        return [CheckResult("cluster", Health.CRITICAL, str(error))]


def _brokers(statuses: list[BrokerStatus], wanted: int, disk: Thresholds) -> list[CheckResult]:
    up = [status for status in statuses if not status.error]
    enough = Health.OK if len(up) >= wanted and len(up) == len(statuses) else Health.CRITICAL
    down = [f"{status.name} at {status.address}: {status.error}" for status in statuses if status.error]
    missing = f", {wanted} wanted" if len(up) < wanted else ""
    said = "; ".join([f"{len(up)} of {len(statuses)} brokers answer{missing}", *down])
    return [CheckResult("brokers", enough, said, len(up)), *(_disk(status, disk) for status in up)]


def _disk(status: BrokerStatus, bounds: Thresholds) -> CheckResult:
    percent = 100 * float(status.runtime.get("commitLogDiskRatio", 0))
    return CheckResult(
        f"disk_{status.name}", bounds.judge(percent), f"disk of {status.name} {percent:.0f} % full", percent
    )


async def _group(admin: AdminClient, name: str, bounds: Thresholds, online: bool) -> list[CheckResult]:
    from sprocketmq.cli.name_check import NotThere, known_group
    from sprocketmq.client.errors import Refused

    try:
        await known_group(admin, name)
    except NotThere as error:
        return [CheckResult(f"lag_{name}", Health.UNKNOWN, str(error))]
    found = [_lag(name, await admin.groups.figures(name), bounds)]
    if online:
        try:
            members = len((await admin.groups.connection(name)).connection_set)
        except Refused:
            members = 0
        health = Health.OK if members else Health.CRITICAL
        found.append(
            CheckResult(
                f"online_{name}", health, f"{name} has {members} {'consumer' if members == 1 else 'consumers'}", members
            )
        )
    return found


def _lag(name: str, figures: GroupFigures, bounds: Thresholds) -> CheckResult:
    if figures.lag is None and figures.uncommitted:
        said = f"the lag of {name} is not known: no offset committed for {', '.join(figures.uncommitted)}"
        return CheckResult(f"lag_{name}", Health.UNKNOWN, said)
    lag = figures.progress.lag
    return CheckResult(f"lag_{name}", bounds.judge(lag), f"{name} is {lag} messages behind", lag)


def _line(worst: Health, findings: list[CheckResult]) -> str:
    bad = [finding.detail for finding in findings if finding.health == worst]
    said = "; ".join(bad if worst else [findings[0].detail, f"{len(findings)} checks"])
    return f"{worst.name}: {said} | {' '.join(_figures(findings))}".rstrip(" |")


def _figures(findings: Iterable[CheckResult]) -> Iterable[str]:
    return (f"{finding.check}={finding.value:g}" for finding in findings if finding.value is not None)


def _row(worst: Health, findings: list[CheckResult]) -> dict[str, Any]:
    return {
        "status": worst.name.lower(),
        "code": int(worst),
        "checks": [
            {"check": each.check, "status": each.health.name.lower(), "detail": each.detail, "value": each.value}
            for each in findings
        ],
    }
