# The bits of sysflag.py for C: hot modules cimport them as constants, and what they mean for queue and index inlined.
cdef enum:
    TRANSACTION_MASK = 0xC
    TRANSACTION_COMMIT = 0x8
    TRANSACTION_ROLLBACK = 0xC
    BORN_HOST_V6 = 0x10
    STORE_HOST_V6 = 0x20


cdef inline bint is_queued(int sys_flag) noexcept:
    return sys_flag & TRANSACTION_MASK == 0 or sys_flag & TRANSACTION_MASK == TRANSACTION_COMMIT


cdef inline bint is_indexed(int sys_flag) noexcept:
    return sys_flag & TRANSACTION_MASK != TRANSACTION_ROLLBACK
