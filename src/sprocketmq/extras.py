"""The packages that are optional: who needs one says which extra brings it, in one line.

extra      packages            for
cli        click, rich         the command `sprocket`
broker     lark, uvloop        SQL92 filters; a faster event loop
zstd lz4   zstandard, lz4      bodies compressed that way; zlib is in Python
arrow      pyarrow             record batches: `poll_arrow`, scans of a store, remote file systems
spark      pyspark, pyarrow,   the data sources and `sprocket pipeline`; filters are checked on the driver
           lark
otel       opentelemetry-api   spans and metrics
dashboard  starlette, jinja2,  the console: `sprocket dashboard`, and beside `sprocket up`
           uvicorn and others
certs      cryptography        `sprocket certs`: certificates for development

    MissingExtra: the command sprocket needs click: pip install 'sprocketmq[cli]'

What no package brings is Linux: servers and stores ask for it at their entrances.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from sprocketmq.errors import ConfigError, MissingExtra


def hint(what: str, package: str, extra: str) -> str:
    return f"{what} needs {package}: pip install 'sprocketmq[{extra}]'"


def need(what: str, package: str, extra: str) -> None:
    """Nothing when the package is there; else MissingExtra. For entrances: what lies behind them just imports."""
    if find_spec(package) is None:
        raise MissingExtra(hint(what, package, extra))


def need_linux(what: str) -> None:
    """Elsewhere it would end at the first call that the system lacks, in the middle of a file."""
    if sys.platform != "linux":
        raise ConfigError(f"{what} needs Linux; clients, and commands that ask a cluster, run everywhere")
