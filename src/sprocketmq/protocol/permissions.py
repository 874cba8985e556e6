"""What a topic or a queue may be used for: the bits of `perm`, in bodies, tables and routes alike."""

from __future__ import annotations

PERM_INHERIT, PERM_WRITE, PERM_READ, PERM_PRIORITY = 1, 2, 4, 8
