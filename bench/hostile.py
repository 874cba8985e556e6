"""A healthy client's latency while strangers do their worst: quiet, then under each attack.

    python -m bench.hostile [seconds] [attack...]       for each attack, 10 unless told otherwise

The broker runs in a process of its own, with 512 MiB of address space, and so does the attack. One line for each: p50
and p99 in milliseconds, and p99 as a multiple of the quiet one before it. The target is 2 at most, on a machine that
does nothing else.

Strangers bring machines of their own. Here all three share the cores, so the attack is scheduled when broker and client
leave one idle: what the client waits for is the broker, and not a core that the attack's own program holds. `attack
CPU` and `broker CPU` are the parts of a core that the two took, and show that it was an attack all the same.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.fault.strangers.attacks import ATTACKS, HealthyClient
from tests.fault.strangers.besieged import MIB, Besieged, besieged_broker
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


@dataclass
class Measured:
    client: HealthyClient
    #: Parts of a core, by process.
    cpu: Mapping[str, float] = field(default_factory=dict)


async def measure(port: int, seconds: float) -> Measured:
    """Without an attack."""
    async with _healthy(port) as client:
        return await _measured(client, seconds, {})


async def measure_under(attack: str, broker: Besieged, seconds: float) -> Measured:
    async with _healthy(broker.port) as client:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.fault.strangers.attacks", attack, str(broker.port), preexec_fn=_yield_to_all
        )
        await asyncio.sleep(2)
        measured = await _measured(client, seconds, {"attack": process.pid, "broker": broker.process.pid})
        process.kill()
        await process.wait()
    return measured


@contextlib.asynccontextmanager
async def _healthy(port: int) -> AsyncIterator[HealthyClient]:
    client = HealthyClient(port)
    healthy = asyncio.ensure_future(client.run())
    await client.answered(100)  # warm
    try:
        yield client
    finally:
        healthy.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await healthy


async def _measured(client: HealthyClient, seconds: float, processes: Mapping[str, int]) -> Measured:
    client.seconds.clear()
    before = {name: _cpu_seconds(pid) for name, pid in processes.items()}
    began = time.monotonic()
    await asyncio.sleep(seconds)
    passed = time.monotonic() - began
    return Measured(client, {name: (_cpu_seconds(pid) - before[name]) / passed for name, pid in processes.items()})


def _yield_to_all() -> None:
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _cpu_seconds(pid: int) -> float:
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


async def under(name: str, seconds: float) -> float:
    """Quiet and attacked on a broker of its own; the ratio of their p99."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(name, Path(folder))
        Stranger.keys = {FRIEND: ROOT} if settings is ACCOUNTS else {}
        async with besieged_broker(Path(folder), memory=512 * MIB, files=None, **settings) as broker:
            quiet = (await measure(broker.port, seconds / 2)).client
            measured = await measure_under(name, broker, seconds)
            peak = broker.resident_mib()
    attacked = measured.client
    ratio = attacked.percentile(0.99) / quiet.percentile(0.99)
    print(
        f"{name:<18} quiet p50 {quiet.percentile(0.5) * 1e3:5.2f} p99 {quiet.percentile(0.99) * 1e3:5.2f} ms   "
        f"attacked p50 {attacked.percentile(0.5) * 1e3:5.2f} p99 {attacked.percentile(0.99) * 1e3:6.2f} ms   "
        f"ratio {ratio:4.1f}   {len(attacked.seconds)} answers, {attacked.refused} refused, peak {peak:.0f} MiB, "
        + ", ".join(f"{name} CPU {part:.2f}" for name, part in measured.cpu.items()),
        flush=True,
    )
    return ratio


async def attack_in_turn(seconds: float, names: Sequence[str]) -> None:
    ratios = {name: await under(name, seconds) for name in names or ATTACKS}
    above = [name for name, ratio in ratios.items() if ratio > TARGET]
    print(f"above {TARGET:g}: {', '.join(above) or 'none'}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hostile", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("seconds", nargs="?", type=float, default=SECONDS)
    parser.add_argument("attacks", nargs="*", metavar="attack", help=", ".join(ATTACKS))
    options = parser.parse_args()
    for name in options.attacks:
        if name not in ATTACKS:
            parser.error(f"no attack is called {name}: {', '.join(ATTACKS)}")
    run(attack_in_turn(options.seconds, options.attacks))


if __name__ == "__main__":
    main()
