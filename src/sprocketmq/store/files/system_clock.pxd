# The C types of system_clock.py.
# Milliseconds since 1970 pass 32 bits. Nothing rests on the GIL.
from sprocketmq.hot.memory cimport wall_ms


cdef class SystemClock:
    cpdef long long now_ms(self) noexcept
