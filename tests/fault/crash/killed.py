"""A process that dies in the middle of a store into mapped memory.

What a killed process had stored stays, in the order of its instructions. So the page that the rest of a record goes to
is made unwritable, and a child process dies there: the very state that a kill inside that copy leaves behind, for the
compiled form as for the interpreted one.
"""

from __future__ import annotations

import ctypes
import faulthandler
import mmap
import os
import resource
import signal
from collections.abc import Callable

PAGE = mmap.PAGESIZE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def seal_page(view: memoryview, page: int) -> None:
    """From now on a store into that page of a map ends the process."""
    address = ctypes.addressof(ctypes.c_char.from_buffer(view)) + page * PAGE
    if _libc.mprotect(address, PAGE, mmap.PROT_READ) != 0:
        raise OSError(ctypes.get_errno(), "mprotect")


def dies(act: Callable[[], object]) -> bool:
    """Run it in a child; whether the child died in a store."""
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        try:
            act()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGSEGV
