# The C types of rows.py.
# A row number has 64 bits before it is cut into the key's two halves of 16; flags have 64 until they are found to fit
# into 32. Nothing rests on the GIL: one task on one thread fills its own batches.
from sprocketmq.protocol.record.batch cimport ENTRY_BYTES, decode_batch
from sprocketmq.protocol.record.hashing cimport utf8_hash
from sprocketmq.hot.octets cimport cut, find, put, put_hex16, put_i16, put_i32, put_near, same, text
from sprocketmq.spark.write.arrow_cells cimport Field, Numbers, Pairs, Ranges
from sprocketmq.spark.write.batches cimport QueueBatch, TopicBatches

import cython

cdef Py_ssize_t MAX_ENTRY_BYTES, _NEAR_BYTES, _MOST_PROPERTIES, _ROW_HIGH_AT, _ROW_LOW_AT
cdef frozenset _RESERVED
cdef bytes _RESERVED_FIRST


@cython.final
cdef class EntryFill:
    cdef bytes _head
    cdef Py_ssize_t _batch_bytes, _batch_rows
    cdef long long _first_row
    cdef bint _is_free
    cdef QueueBatch _single
    cdef Ranges _bodies, _topics, _shards
    cdef Pairs _pairs
    cdef Numbers _flags, _delays, _queue_ids
    cdef list _fields

    @cython.locals(batch=QueueBatch)
    cpdef object fill(self, TopicBatches batches, Py_ssize_t row, Py_ssize_t end, object sink)

    cpdef tuple alone(self, Py_ssize_t row)

    @cython.locals(topics=Ranges, length=Py_ssize_t, at=Py_ssize_t)
    cpdef str topic(self, Py_ssize_t row)

    @cython.locals(topics=Ranges, length=Py_ssize_t, at=Py_ssize_t)
    cpdef Py_ssize_t topic_end(self, Py_ssize_t row, Py_ssize_t end) except -1

    @cython.locals(batch=QueueBatch, shards=Ranges, at=Py_ssize_t, queue_id=cython.longlong)
    cpdef QueueBatch batch_of(self, TopicBatches batches, Py_ssize_t row)

    cpdef long long delay(self, Py_ssize_t row) noexcept

    @cython.locals(
        bodies=Ranges, length=Py_ssize_t, at=Py_ssize_t, p=cython.p_uchar, properties_at=Py_ssize_t, end=Py_ssize_t
    )
    cdef bint append(self, QueueBatch batch, Py_ssize_t row) except -1

    @cython.locals(value=cython.longlong)
    cdef int flag(self, Py_ssize_t row) except? -1

    @cython.locals(most=Py_ssize_t, index=Py_ssize_t, field=Field)
    cdef Py_ssize_t most_properties(self, Py_ssize_t row) except -1

    @cython.locals(number=cython.longlong, index=Py_ssize_t, delay=bytes)
    cdef Py_ssize_t put_properties(self, unsigned char* p, Py_ssize_t at, Py_ssize_t row) except -1

    @cython.locals(begin=Py_ssize_t, end=Py_ssize_t)
    cdef Py_ssize_t put_field(self, unsigned char* p, Py_ssize_t at, Py_ssize_t row, Field field) except -1

    @cython.locals(begin=Py_ssize_t, item=Py_ssize_t, index=Py_ssize_t, space=Py_ssize_t, end=Py_ssize_t)
    cdef Py_ssize_t put_joined(
        self, unsigned char* p, Py_ssize_t at, Py_ssize_t row, Ranges texts, Ranges lists
    ) except -1

    @cython.locals(item=Py_ssize_t, index=Py_ssize_t, end=Py_ssize_t)
    cdef Py_ssize_t put_pairs(self, unsigned char* p, Py_ssize_t at, Py_ssize_t row, Pairs pairs) except -1

    @cython.locals(length=Py_ssize_t)
    cdef Py_ssize_t put_text(
        self, unsigned char* p, Py_ssize_t at, Py_ssize_t row, Ranges texts, Py_ssize_t index
    ) except -1

    cdef object bad(self, Py_ssize_t row, str reason)


@cython.locals(count=Py_ssize_t, item=Py_ssize_t)
cdef Py_ssize_t span(Ranges texts, Ranges lists, Py_ssize_t row) noexcept

cdef bint is_reserved(const unsigned char* p, Py_ssize_t at, Py_ssize_t end) except -1
