# SPDX-License-Identifier: Apache-2.0
"""support_guard_pages.py ROW PROBLEM...

Runs problems of the kernels on a row, in a process whose buffers all end at a page that cannot be touched.

A read or write past the end of a tensor kills the process. The last line of its output names the
kernel and the problem.
"""

import ctypes
import mmap
import os
import sys

import numpy as np
from support_calls import Call
from support_cases import PROBLEMS
from zemm.benchdnn.run import buffers

PAGE = mmap.PAGESIZE
KEPT: list[mmap.mmap] = []
MPROTECT = ctypes.CDLL(None, use_errno=True).mprotect
MPROTECT.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)


def before_a_guard(size: int) -> np.ndarray:
    pages = -(-size // PAGE)
    area = mmap.mmap(-1, (pages + 1) * PAGE)
    KEPT.append(area)
    whole = np.frombuffer(area, np.uint8)
    if MPROTECT(whole.ctypes.data + pages * PAGE, PAGE, 0):
        raise OSError(ctypes.get_errno(), "mprotect")
    return whole[pages * PAGE - size : pages * PAGE]


class Guarded:
    """Bytes that end at a guard page."""

    def __init__(self, size: int, behind: int) -> None:
        self.inside = before_a_guard(size)
        self.address = self.inside.ctypes.data


def main() -> None:
    buffers.Guarded = Guarded  # type: ignore[misc, assignment]
    row, *names = sys.argv[1:]
    os.environ["ZEMM_KERNEL"] = row
    for name in names:
        print(row, name, flush=True)
        try:
            call = Call(PROBLEMS[name])
        except NotImplementedError:
            continue
        call.execute()
    print("done")


if __name__ == "__main__":
    main()
