"""A healthy client's latency while strangers do their worst: quiet, then under each attack.

    python -m bench.hostile [seconds] [attack...]       for each attack, 10 unless told otherwise

The broker runs in a process of its own, with 512 MiB of address space, and so does the attack. One line for each: p50
and p99 in milliseconds, and p99 as a multiple of the quiet one before it. The target is 2 at most, on a machine that
does nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import Collection
from pathlib import Path

from tests.fault.strangers.attacks import ATTACKS, HealthyClient
from tests.fault.strangers.besieged import MIB, besieged_broker
from tests.fault.strangers.stranger import FRIEND, Stranger

from sprocketmq.certificates import make_authority
from sprocketmq.remoting.loop import run

SECONDS = 10.0
TARGET = 2.0
#: For the attack that guesses keys; the healthy client has one.
ROOT = ("root", "root-secret")
ACCOUNTS = {
    "authenticationEnabled": "true",
    "initAuthenticationUser": f'{{"username":"{ROOT[0]}","password":"{ROOT[1]}"}}',
    "innerClientAuthenticationCredentials": '{"accessKey":"app","secretKey":"app-secret"}',
}


def settings_for(attack: str, folder: Path) -> dict[str, str]:
    """What a broker needs so that it can be attacked so."""
    if attack == "wrong signatures":
        return ACCOUNTS
    if attack in ("handshakes", "key updates"):
        own = make_authority("bench", days=1).write(folder, "own")
        return {"tls.server.certPath": str(own.cert), "tls.server.keyPath": str(own.key)}
    return {}


async def measure(port: int, seconds: float, attack: str | None = None) -> HealthyClient:
    client = HealthyClient(port)
    healthy = asyncio.ensure_future(client.run())
    await client.answered(100)  # warm
    if attack is None:
        await _measured(client, seconds)
    else:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.fault.strangers.attacks", attack, str(port)
        )
        await asyncio.sleep(2)
        await _measured(client, seconds)
        process.kill()
        await process.wait()
    healthy.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await healthy
    return client


async def _measured(client: HealthyClient, seconds: float) -> None:
    client.seconds.clear()
    await asyncio.sleep(seconds)


async def under(name: str, seconds: float) -> float:
    """Quiet and attacked on a broker of its own; the ratio of their p99."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(name, Path(folder))
        Stranger.keys = {FRIEND: ROOT} if settings is ACCOUNTS else {}
        async with besieged_broker(Path(folder), memory=512 * MIB, files=None, **settings) as broker:
            quiet = await measure(broker.port, seconds / 2)
            attacked = await measure(broker.port, seconds, name)
            peak = broker.resident_mib()
    ratio = attacked.percentile(0.99) / quiet.percentile(0.99)
    print(
        f"{name:<20} quiet p50 {quiet.percentile(0.5) * 1e3:6.2f} p99 {quiet.percentile(0.99) * 1e3:6.2f} ms   "
        f"attacked p50 {attacked.percentile(0.5) * 1e3:6.2f} p99 {attacked.percentile(0.99) * 1e3:7.2f} ms   "
        f"ratio {ratio:5.1f}   {len(attacked.seconds)} answers, {attacked.refused} refused, peak {peak:.0f} MiB",
        flush=True,
    )
    return ratio


async def main(seconds: float, names: Collection[str]) -> None:
    ratios = {name: await under(name, seconds) for name in names or ATTACKS}
    above = [name for name, ratio in ratios.items() if ratio > TARGET]
    print(f"above {TARGET:g}: {', '.join(above) or 'none'}")


if __name__ == "__main__":
    run(main(float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS, sys.argv[2:]))
