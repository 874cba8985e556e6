# The C types of system_clock.py.
from sprocketmq.hot.memory cimport wall_ms


cdef class SystemClock:
    cpdef long long now_ms(self) noexcept
