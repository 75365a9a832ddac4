# SPDX-License-Identifier: Apache-2.0
"""The matmul kernels of kernels.def."""

import importlib.util
import re
from pathlib import Path

KERNELS = Path(__file__).parents[1] / "src" / "kernels"


def matmul_rows() -> list[str]:
    """The names as the build makes them."""
    spec = importlib.util.spec_from_file_location("build_kernels", KERNELS / "build_kernels.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [
        name for name, (source, _) in module.kernels(KERNELS / "kernels.def").items() if source == "matmul.cl"
    ]


ROWS = matmul_rows()
# For Intel GPUs; the CPU device runs them if forced.
XE_ROWS = [row for row in ROWS if "_xe_" in row]
# That read blocks in one dimension: for GPUs without 2-D block loads, and those that multiply by fma.
LOADS_1D = [row for row in XE_ROWS if re.search("_xe_(hpg|dp4a|fma)", row)]
CPU_ROWS = [row for row in ROWS if row not in XE_ROWS]


def flag(name: str) -> int:
    """A bit of SPEC_FLAGS."""
    found = re.search(rf"^#define {name} (\d+)", (KERNELS / "matmul_args.h").read_text(), re.M)
    assert found, name
    return int(found[1])
