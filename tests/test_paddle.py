# SPDX-License-Identifier: Apache-2.0
"""PaddlePaddle over libdnnl.so.3: linear layers are inner products. ZEMM_PADDLE_PYTHON is the Python of an
environment of its own with paddlepaddle, whose libraries are not to disturb other tests.
"""

import os
import re
from pathlib import Path

import pytest
import zemm
from support_process import captured

PYTHON = os.environ.get("ZEMM_PADDLE_PYTHON", "")
LIBRARY = Path(zemm.get_lib()) / "dnnl" / "libdnnl.so.3"
PROGRAM = Path(__file__).with_name("paddle_program.py")
WAYS = {"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": LIBRARY.parent}


@pytest.mark.full
@pytest.mark.skipif(not PYTHON, reason="ZEMM_PADDLE_PYTHON names no Python with paddlepaddle")
@pytest.mark.parametrize("variable", WAYS)
def test_linear_layers(tmp_path: Path, variable: str) -> None:
    """Two inner products with bias and post-ops, whose weights a reorder packs."""
    environment = os.environ | {variable: str(WAYS[variable]), "ONEDNN_VERBOSE": "1"}
    done = captured([PYTHON, PROGRAM, tmp_path], env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^onednn_verbose,.*,exec,cpu,inner_product,matmul_.*$", done.stdout, re.MULTILINE)
    assert len(lines) == 2, done.stdout
    assert "attr-post-ops:eltwise_relu+eltwise_linear:1,,mb8ic64oc128," in lines[0]
    difference = re.search(r"^difference: (\S+)$", done.stdout, re.MULTILINE)
    assert difference, done.stdout
    assert float(difference[1]) < 1e-5
