# The C types of json_header.py.
# `p` is bare up to the scan; the general parser gets bytes of its own. Nothing rests on the GIL.
from sprocketmq.protocol.command cimport Command
from sprocketmq.protocol.frame.json_header_scan cimport scan_at
from sprocketmq.hot.octets cimport cut

import cython

@cython.locals(command=Command)
cdef Command decode_json_header(const unsigned char* p, Py_ssize_t at, Py_ssize_t end)
