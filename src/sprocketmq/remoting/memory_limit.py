"""How much memory this process may use, so that budgets for peers leave it room to live."""

from __future__ import annotations

_CGROUPS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


def fitting(wanted: int, parts: int) -> int:
    """`wanted`, or one of so many parts of what there is, whichever is less."""
    limit = memory_limit()
    return wanted if limit is None else min(wanted, limit // parts)


def memory_limit() -> int | None:
    """What the operator granted: the limit of address space, or that of the container. None when there is none."""
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    limits = [] if soft == resource.RLIM_INFINITY else [soft]
    limits += [limit for limit in map(_number_in, _CGROUPS) if limit is not None]
    return min(limits, default=None)


def _number_in(path: str) -> int | None:
    """None where there is no such file, or it says `max`."""
    try:
        with open(path) as file:
            text = file.read().strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None
