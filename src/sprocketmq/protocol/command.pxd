# The C types of command.py.
# The numbers of a header have 32 bits, as on the wire; in a binary one `code` and `version` have 16 of them. A command
# is on one thread at a time: nothing rests on the GIL.

cdef class Command:
    cdef public int code
    cdef public int opaque
    cdef public int flag
    cdef public int version
    cdef public int serialize_type
    cdef public double arrived
    cdef public object language
    cdef public object remark
    cdef public object body
    cdef public object cleared_by
    cdef dict _ext_fields
    cdef bytes _block
