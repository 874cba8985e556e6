# The C types of receipts.py.
# A future is made for every message, so the memory of a batch of them is kept for the next ones. Queue offsets have 64
# bits. Batches are settled on the producer's loop; what rests on the GIL is the buffer of ids, see `BatchReceipts`.
from sprocketmq.hot.tuples cimport tuple_of
from sprocketmq.hot.octets cimport put_hex16, text

import cython


@cython.final
cdef class BatchReceipts:
    cdef readonly Py_ssize_t count
    cdef object _status, _queue
    cdef long long _offset
    cdef str _offset_ids
    cdef list _ids
    cdef bytearray _key
    cdef int _first

    @cython.locals(p=cython.p_uchar, end=Py_ssize_t)
    cdef object _at(self, Py_ssize_t index)


@cython.final
cdef class BatchOutcome:
    cdef readonly bint is_settled
    cdef object _loop, _receipt, _error, _traceback
    cdef BatchReceipts _receipts
    cdef list _waiting
    cdef bint _asked

    cpdef object settle(self, BatchReceipts receipts)
    cpdef object settle_alone(self, object receipt)
    cpdef object fail(self, object error)
    cpdef object error(self)
    cdef object receipt(self, Py_ssize_t index)

    @cython.locals(future=ReceiptFuture)
    cdef object _tell(self)


@cython.final
@cython.freelist(1024)
cdef class ReceiptFuture:
    cdef public bint _asyncio_future_blocking
    cdef bint _is_cancelled
    cdef BatchOutcome _outcome
    cdef Py_ssize_t _index
    cdef list _callbacks

    cpdef bint done(self) except -1
    cpdef object _join(self, BatchOutcome outcome, Py_ssize_t index)
    cpdef object _fail(self, object error)
    cdef object _call_back(self)


@cython.locals(future=ReceiptFuture)
cpdef ReceiptFuture future_of(BatchOutcome outcome, Py_ssize_t index)
