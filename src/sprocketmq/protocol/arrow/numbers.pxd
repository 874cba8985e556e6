# The C types of numbers.py.
# Places are Py_ssize_t, values as wide as their column. `put_decimal` takes 64 bits for a port of 32, so that the least
# one has a negative. The GIL is held through each loop, but nothing rests on it: rows and buffers are the caller's.
from sprocketmq.hot.octets cimport i32, i64, le64, put, put_le32, put_le64, same
from sprocketmq.protocol.record.record cimport Pointer
from sprocketmq.protocol.arrow.rows cimport AT, BODY_AT, BODY_END, ROW_BYTES, STORE_TIME_AT, SYS_FLAG, Rows
from sprocketmq.protocol.record.sysflag cimport STORE_HOST_V6
from sprocketmq.protocol.arrow.text_column cimport TextColumn, pointer

import cython

cdef const unsigned char* _HEX
cdef const unsigned char* _UPPER_HEX

@cython.locals(p=cython.p_uchar, places=cython.p_uchar, source=Pointer, row=Py_ssize_t)
cpdef numbers_32(const unsigned char[::1] data, Rows rows, Py_ssize_t anchor, Py_ssize_t distance, room)

@cython.locals(p=cython.p_uchar, places=cython.p_uchar, source=Pointer, row=Py_ssize_t)
cpdef numbers_64(const unsigned char[::1] data, Rows rows, Py_ssize_t anchor, Py_ssize_t distance, room)

@cython.locals(
    p=cython.p_uchar, places=cython.p_uchar, source=Pointer, row=Py_ssize_t, value=cython.longlong,
    limit=cython.longlong,
)
cpdef micros(const unsigned char[::1] data, Rows rows, Py_ssize_t anchor, Py_ssize_t distance, room)

@cython.locals(
    count=Py_ssize_t, text=TextColumn, places=cython.p_uchar, source=Pointer, row=Py_ssize_t, at=Py_ssize_t,
    other=bytes,
)
cpdef tuple slices(const unsigned char[::1] data, Rows rows, Py_ssize_t begin, Py_ssize_t end, room, dict replaced=*)

@cython.locals(total=Py_ssize_t, places=cython.p_uchar, row=Py_ssize_t)
cdef Py_ssize_t total_size(Rows rows, Py_ssize_t begin, Py_ssize_t end, dict replaced) except -1

@cython.locals(
    count=Py_ssize_t, text=TextColumn, p=cython.p_uchar, places=cython.p_uchar, source=Pointer, row=Py_ssize_t,
    here=Py_ssize_t, at=Py_ssize_t, last=Py_ssize_t, last_at=Py_ssize_t, last_size=Py_ssize_t, length=Py_ssize_t,
    size=Py_ssize_t,
)
cpdef tuple hosts(const unsigned char[::1] data, Rows rows, Py_ssize_t anchor, Py_ssize_t distance, int v6_bit, room)

@cython.locals(index=Py_ssize_t)
cdef Py_ssize_t put_v4(unsigned char* p, Py_ssize_t here, const unsigned char* source, Py_ssize_t at) noexcept

@cython.locals(index=Py_ssize_t)
cdef Py_ssize_t put_v6(unsigned char* p, Py_ssize_t here, const unsigned char* source, Py_ssize_t at) noexcept

@cython.locals(shift=int)
cdef Py_ssize_t put_group(unsigned char* p, Py_ssize_t here, int group) noexcept

@cython.locals(length=Py_ssize_t, rest=cython.longlong, end=Py_ssize_t)
cdef Py_ssize_t put_decimal(unsigned char* p, Py_ssize_t here, long long value) noexcept

@cython.locals(
    count=Py_ssize_t, text=TextColumn, p=cython.p_uchar, places=cython.p_uchar, source=Pointer, row=Py_ssize_t,
    here=Py_ssize_t, at=Py_ssize_t, host_at=Py_ssize_t, last=Py_ssize_t, last_at=Py_ssize_t, last_size=Py_ssize_t,
    size=Py_ssize_t,
)
cpdef tuple message_ids(const unsigned char[::1] data, Rows rows, room)

@cython.locals(index=Py_ssize_t)
cdef Py_ssize_t put_hex(
    unsigned char* p, Py_ssize_t here, const unsigned char* source, Py_ssize_t at, Py_ssize_t length
) noexcept

@cython.locals(found=list, places=cython.p_uchar, row=Py_ssize_t, here=Py_ssize_t, sys_flag=cython.longlong)
cpdef list compressed_rows(Rows rows, int bit)
