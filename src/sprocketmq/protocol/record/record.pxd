# The C types of record.py. A store's own hot module may cimport `write_at` and `RecordParts`.
# Offsets and times have 64 bits, `size` and the numbers of a header 32, as on disk. A checksum is unsigned until its
# sign bit is cut off. Of a record under way nothing rests on the GIL: a reader may be another process, and it is the
# order of the stores that counts (`put_last`).
from sprocketmq.protocol.record.crc cimport crc_of, crc_on
from sprocketmq.hot.octets cimport (
    blank, cut, i16, i32, i64, put, put_i16, put_i32, put_i64, put_last, same, seal, text,
)
from sprocketmq.protocol.record.sysflag cimport BORN_HOST_V6, STORE_HOST_V6

import cython

ctypedef const unsigned char* Pointer

cpdef enum:
    MAGIC_V1 = -626843481
    MAGIC_V2 = -626843477
    MAGIC_BLANK = -875286124

cpdef enum:
    MAX_PROPERTIES_BYTES = 32767
    MAX_TOPIC_V1_BYTES = 127
    BLANK_BYTES = 8
    FIXED_BYTES = 91
    PROPERTY_CRC_BYTES = 20
    SECTOR_BYTES = 512

cpdef enum:
    WHOLE = 0
    BLANK = 1
    CUT_OFF = 2
    NO_MAGIC = 3
    WRONG_SIZE = 4
    WRONG_PARTS = 5
    WRONG_CRC = 6
    WRONG_PROPERTY_CRC = 7
    TORN = 8


@cython.freelist(64)
cdef class Record:
    cdef readonly str topic
    cdef readonly bytes body
    cdef readonly int queue_id
    cdef readonly int flag
    cdef readonly long long queue_offset
    cdef readonly long long commit_offset
    cdef readonly int sys_flag
    cdef readonly long long born_timestamp
    cdef readonly bytes born_host
    cdef readonly long long store_timestamp
    cdef readonly bytes store_host
    cdef readonly int reconsume_times
    cdef readonly long long prepared_transaction_offset
    cdef readonly bytes properties
    cdef readonly int body_crc
    cdef readonly int size


@cython.final
@cython.freelist(8)
cdef class RecordParts:
    cdef Py_ssize_t at
    cdef Py_ssize_t size
    cdef Py_ssize_t end
    cdef int magic
    cdef int sys_flag
    cdef Py_ssize_t store_time_at
    cdef Py_ssize_t body_at
    cdef Py_ssize_t body_end
    cdef Py_ssize_t topic_at
    cdef Py_ssize_t topic_end
    cdef Py_ssize_t properties_at
    cdef Py_ssize_t properties_end

    cdef int locate(self, const unsigned char* p, Py_ssize_t at, Py_ssize_t end) noexcept

    @cython.locals(width=int, room=Py_ssize_t, body_length=Py_ssize_t, topic_length=Py_ssize_t)
    cdef int locate_parts(self, const unsigned char* p) noexcept

    @cython.locals(body_crc=int, here=Py_ssize_t, value=cython.uint, digit=int)
    cdef int check(self, const unsigned char* p) noexcept

    @cython.locals(at=Py_ssize_t, past=cython.longlong, word=Py_ssize_t)
    cdef bint has_hole(self, const unsigned char* p) noexcept


@cython.locals(size=Py_ssize_t)
cpdef Py_ssize_t store_size(
    Py_ssize_t body_length, Py_ssize_t topic_length, Py_ssize_t properties_length, int sys_flag=*
) noexcept

@cython.locals(topic=bytes, size=Py_ssize_t, out=bytes)
cpdef bytes encode_record(Record record)

@cython.locals(p=cython.p_uchar, size=Py_ssize_t)
cpdef Py_ssize_t write_record(
    unsigned char[::1] buffer, Py_ssize_t at, bytes topic, bytes body, bytes properties, int queue_id, int flag, long long queue_offset,
    long long commit_offset, int sys_flag, long long born_timestamp, bytes born_host, long long store_timestamp,
    bytes store_host, int reconsume_times=*, long long prepared_transaction_offset=*, bint property_crc=*,
) except -1

@cython.locals(
    body_length=Py_ssize_t, topic_length=Py_ssize_t, properties_length=Py_ssize_t, long_topic=bint, start=Py_ssize_t,
    magic=int,
)
cdef void write_at(
    unsigned char* p, Py_ssize_t at, Py_ssize_t size, bytes topic, bytes body, bytes properties, int queue_id, int flag,
    long long queue_offset, long long commit_offset, int sys_flag, long long born_timestamp, bytes born_host,
    long long store_timestamp, bytes store_host, int reconsume_times, long long prepared_transaction_offset,
    bint property_crc,
) except *

cdef void check_lengths(
    Py_ssize_t topic, Py_ssize_t properties, Py_ssize_t born_host, Py_ssize_t store_host, int sys_flag
) except *

cdef bytes reserve_property_crc(bytes properties)

@cython.locals(p=Pointer, length=Py_ssize_t)
cdef bytes closed(bytes properties)

@cython.locals(here=Py_ssize_t, value=cython.uint, digit=int)
cdef void put_property_crc(unsigned char* p, Py_ssize_t at, Py_ssize_t size, int magic) noexcept

@cython.locals(p=Pointer, layout=RecordParts, kind=int)
cpdef tuple check_record(const unsigned char[::1] buffer, Py_ssize_t at, Py_ssize_t end, bint check_crc=*)

cpdef Record decode_record(data, Py_ssize_t at=*, bint check_crc=*)

@cython.locals(end=Py_ssize_t)
cdef Record decode_view(const unsigned char[::1] data, Py_ssize_t at, bint check_crc)

@cython.locals(p=Pointer, at=Py_ssize_t, end=Py_ssize_t, layout=RecordParts, records=list)
cpdef list decode_records(const unsigned char[::1] data, bint check_crc=*)

@cython.locals(kind=int, record=Record)
cdef Record read_at(const unsigned char* p, Py_ssize_t at, Py_ssize_t end, RecordParts layout, bint check_crc)
