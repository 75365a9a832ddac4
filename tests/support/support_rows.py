# SPDX-License-Identifier: Apache-2.0
"""The rows of the matmul kernels, read from the list that is installed with zemm."""

import re

import pytest
import zemm
from support_tree import ROOT
from zemm._library.kernels import Row, rows

BY_NAME: dict[str, Row] = {row.name: row for row in rows()}
ROWS = list(BY_NAME)
# Rows for Intel GPUs. The CPU device runs them if ZEMM_KERNEL names one.
XE_ROWS = [name for name, row in BY_NAME.items() if row.is_xe]
# Rows with block loads in one dimension: those for GPUs without 2-D block loads, and the fma rows.
LOADS_1D = [name for name in XE_ROWS if not BY_NAME[name].block2d]
CPU_ROWS = [name for name in ROWS if name not in XE_ROWS]
MATMUL_ARGS = ROOT / "src" / "kernels" / "args" / "matmul_args.h"


def reads_packed_only(row: Row) -> bool:
    """Whether the row refuses plain weights, which others have packed first."""
    return row.predicate.startswith(("packed_", "widened_on"))


def skip_without_feature(engine: zemm.Engine, row: str) -> None:
    """Skip a test of a CPU row whose instructions the processor lacks."""
    feature = BY_NAME[row].feature
    if row in CPU_ROWS and feature and feature not in engine.features:
        pytest.skip(f"the processor has no {feature}")


def flag(name: str) -> int:
    """The value of a bit of SPEC_FLAGS, by its name."""
    found = re.search(rf"^#define {name} \(1u << (\d+)\)", MATMUL_ARGS.read_text(), re.M)
    assert found, name
    return 1 << int(found[1])


def state(name: str) -> int:
    """A value of an enum of matmul_args.h: how many of its enum are before it."""
    found = re.search(rf"^enum \w+ {{([^}}]*)\b{name}\b", MATMUL_ARGS.read_text(), re.M)
    assert found, name
    return len(re.findall(r"^ +[A-Z]\w*,", found[1], re.M))


def constant_id(name: str) -> int:
    """The number of a specialisation constant."""
    found = re.search(rf"^#define {name} (\d+)", MATMUL_ARGS.read_text(), re.M)
    assert found, name
    return int(found[1])
