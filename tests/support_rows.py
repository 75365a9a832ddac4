# SPDX-License-Identifier: Apache-2.0
"""The rows of the matmul kernels, read from the list that is installed with zemm."""

import re
from pathlib import Path

from zemm.isa.rows import Row, rows

BY_NAME: dict[str, Row] = {row.name: row for row in rows()}
ROWS = list(BY_NAME)
# Rows for Intel GPUs. The CPU device runs them if ZEMM_KERNEL names one.
XE_ROWS = [name for name, row in BY_NAME.items() if row.is_xe]
# Rows with block loads in one dimension: those for GPUs without 2-D block loads, and the fma rows.
LOADS_1D = [name for name in XE_ROWS if not BY_NAME[name].block2d]
CPU_ROWS = [name for name in ROWS if name not in XE_ROWS]


def flag(name: str) -> int:
    """The value of a bit of SPEC_FLAGS, by its name."""
    header = Path(__file__).parents[1] / "src" / "kernels" / "matmul_args.h"
    found = re.search(rf"^#define {name} (\d+)", header.read_text(), re.M)
    assert found, name
    return int(found[1])
