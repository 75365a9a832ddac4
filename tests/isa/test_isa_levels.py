# SPDX-License-Identifier: Apache-2.0
"""The kernels that each ISA level of a CPU chooses. ZEMM_DEVICE_MASK makes the levels on a machine
that has all.
"""

import json
import os
import sys
from typing import Any

import numpy as np
import pytest
import zemm
from support_calls import run_exact
from support_cases import Problem, problems
from support_process import captured
from support_rows import BY_NAME, ROWS

# For each mask, the policies of the integer matmul and of the float matmul. AMX is hidden, too.
LEVELS = {
    "": ("avx512_vnni", "avx512"),
    "avx512_vnni": ("avx512", "avx512"),
    "avx512": ("avx2_vnni", "avx2_fma"),
    "avx512,avx_vnni": ("avx2", "avx2_fma"),
    "avx2": ("generic", "generic"),
}
PROBLEMS = problems("levels of CPUs")  # floats are eighths, so sums are exact


def result(engine: zemm.Engine, problem: Problem) -> tuple[str, np.ndarray]:
    """The kernel that ran, and dst's bytes, which have been compared with numpy's."""
    call = run_exact(problem)
    return call.pd.impl_info, call.raw


def main() -> None:
    """Run in a process with the mask: print the chosen kernels, and whether the generic kernel
    computes the same.
    """
    engine = zemm.Engine("cpu")
    report: dict[str, Any] = {}
    for name, problem in PROBLEMS.items():
        os.environ.pop("ZEMM_KERNEL", None)
        chosen, dst = result(engine, problem)
        os.environ["ZEMM_KERNEL"] = next(row for row in ROWS if BY_NAME[row].policy == "generic")
        generic, expected = result(engine, problem)
        report[name] = [chosen, generic, bool(np.array_equal(dst, expected))]
    print(json.dumps(report))


@pytest.mark.quick(cases=lambda mask: mask == "avx2")
@pytest.mark.parametrize("mask", LEVELS)
def test_level(engine: zemm.Engine, mask: str) -> None:
    missing = {"avx2", "avx_vnni", "avx512", "avx512_vnni"} - set(engine.features)
    if missing:
        pytest.skip(f"the levels of a CPU with everything; this one lacks {', '.join(sorted(missing))}")
    environment = {**os.environ, "ZEMM_DEVICE_MASK": f"amx_int8,amx_bf16,amx_fp16,{mask}"}
    done = captured([sys.executable, __file__], env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    integer, floats = LEVELS[mask]
    for name, (chosen, generic, equal) in json.loads(done.stdout).items():
        assert BY_NAME[chosen].policy == (floats if name == "f32" else integer)
        assert BY_NAME[generic].policy == "generic"
        assert equal


if __name__ == "__main__":
    main()
