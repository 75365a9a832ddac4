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
from typing import Any

import numpy as np
import support_run
import zemm
from support_kernel_problems import PROBLEMS
from support_problem import make_data

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


class GuardedMemory(zemm.Memory):
    """A zemm.Memory on a copy of the buffer, which ends at a guard page."""

    def __init__(self, md: zemm.MemoryDesc, engine: zemm.Engine, buffer: Any = None) -> None:
        copy = before_a_guard(md.size)
        if buffer is not None:
            copy[:] = buffer[: md.size]
        super().__init__(md, engine, copy)


def main() -> None:
    support_run.zemm.Memory = GuardedMemory  # type: ignore[misc]
    row, *names = sys.argv[1:]
    os.environ["ZEMM_KERNEL"] = row
    for name in names:
        print(row, name, flush=True)
        problem = PROBLEMS[name]
        try:
            call = support_run.make_call(problem, make_data(problem))
        except NotImplementedError:
            continue
        call.execute()
    print("done")


if __name__ == "__main__":
    main()
