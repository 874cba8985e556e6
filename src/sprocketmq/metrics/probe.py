"""`python -m sprocketmq.metrics.probe [PAGE]`: exit 0 when a server on this machine answers /health (or PAGE) with 200.

For health checks of containers, which have no curl. The ports are those of nameserver, broker and controller;
SPROCKETMQ_PROBE_PORTS names others. Where nobody listens there is no server; every one that is there has to answer.
"""

from __future__ import annotations

import http.client
import os
import sys
from collections.abc import Iterable

PORTS = "5557 5556 5558"
_SECONDS = 3.0


def statuses(page: str, ports: Iterable[int], host: str = "127.0.0.1") -> dict[int, int]:
    """What the servers that are there say, by port: one that hangs has timed out."""
    found = {}
    for port in ports:
        asked = http.client.HTTPConnection(host, port, timeout=_SECONDS)
        try:
            asked.request("GET", page)
            found[port] = asked.getresponse().status
        except TimeoutError:
            found[port] = http.client.GATEWAY_TIMEOUT
        except OSError:
            continue
        finally:
            asked.close()
    return found


def main(arguments: list[str]) -> int:
    page = arguments[0] if arguments else "/health"
    found = statuses(page, map(int, os.environ.get("SPROCKETMQ_PROBE_PORTS", PORTS).split()))
    if not found:
        print("no server answers", file=sys.stderr)
        return 1
    return 0 if all(status == http.client.OK for status in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
