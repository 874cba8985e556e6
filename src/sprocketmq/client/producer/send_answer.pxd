# The C types of send_answer.py.
# A queue offset has 64 bits, a queue id 32; both are -1 until their field is found. Nothing rests on the GIL.
from sprocketmq.hot.tuples cimport tuple_of
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.binary_header cimport integer
from sprocketmq.hot.octets cimport i16, i32, same, text

import cython

cdef dict _STATUS

cpdef object receipt_of(Command answer, str unique_key, object queue, str address)

@cython.locals(
    offset=cython.longlong, queue_id=int, p=cython.p_uchar, at=Py_ssize_t, end=Py_ssize_t, length=Py_ssize_t,
    value=Py_ssize_t, stop=Py_ssize_t,
)
cdef object from_block(bytes block, object status, str unique_key, object queue)

cdef object placed_in(object queue, int queue_id)
