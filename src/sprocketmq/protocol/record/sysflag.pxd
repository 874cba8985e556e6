# The bits of sysflag.py for C: hot modules cimport them as constants.
cdef enum:
    TRANSACTION_MASK = 0xC
    TRANSACTION_COMMIT = 0x8
    TRANSACTION_ROLLBACK = 0xC
    BORN_HOST_V6 = 0x10
    STORE_HOST_V6 = 0x20
