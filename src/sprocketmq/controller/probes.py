"""Whether a broker is still there, asked at its address."""

from __future__ import annotations

import asyncio
import contextlib

from sprocketmq.remoting.peer import parse_address

#: A broker whose connection closed gets so long to take another; one that takes it lives.
RECONNECT_SECONDS = 0.2
#: Between probes of such a broker, when one ends.
_PROBE_PAUSE = 0.01


async def refuses(address: str) -> bool:
    """Whether the machine of the broker says that nobody listens there; silence may be that of a cut."""
    try:
        async with asyncio.timeout(RECONNECT_SECONDS):
            _, writer = await asyncio.open_connection(*parse_address(address))
    except ConnectionRefusedError:
        return True
    except (TimeoutError, OSError, ValueError):
        return False
    writer.close()
    return False


async def is_reachable(address: str) -> bool:
    """Whether the broker takes connections. A process that is killed closes its sockets one after the other, and takes
    one until the turn of those that listen: so it is held for as long as there is, and tried again where it ends.
    """
    taken = False
    try:
        async with asyncio.timeout(RECONNECT_SECONDS):
            while True:
                taken = False
                reader, writer = await asyncio.open_connection(*parse_address(address))
                taken = True
                with contextlib.closing(writer), contextlib.suppress(ConnectionError):
                    await reader.read(1)
                await asyncio.sleep(_PROBE_PAUSE)
    except TimeoutError:
        return taken
    except (OSError, ValueError):
        return False
