"""What each Python of Spark does first: it takes PySpark from where it is installed, not from the archive Spark names.

Python keeps no byte code of modules in an archive, so that every worker would compile PySpark anew: a second of CPU, of
the ten that Spark waits for a worker.
"""

from __future__ import annotations

import sys

sys.path[:] = [path for path in sys.path if not path.endswith("/pyspark.zip")]
