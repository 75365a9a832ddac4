# SPDX-License-Identifier: Apache-2.0
"""PaddlePaddle over libdnnl.so.3: linear layers are inner products. ZEMM_PADDLE_PYTHON is the Python of an
environment of its own with paddlepaddle, whose libraries are not to disturb other tests.
"""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zemm
from support_process import captured

PYTHON = os.environ.get("ZEMM_PADDLE_PYTHON", "")
LIBRARY = Path(zemm.get_lib()) / "dnnl" / "libdnnl.so.3"
PROGRAM = Path(__file__).with_name("paddle_program.py")
HAS_VNNI = {"avx_vnni", "avx512_vnni"}  # of features, any
WAYS = {"LD_PRELOAD": LIBRARY, "LD_LIBRARY_PATH": LIBRARY.parent}

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not PYTHON, reason="ZEMM_PADDLE_PYTHON names no Python with paddlepaddle"),
]


def products(folder: Path, *arguments: str, **environment: Any) -> tuple[list[str], float, str]:
    """The log's lines of inner products, the difference from the float model, and all output, with which the
    program has run."""
    folder.mkdir(exist_ok=True)
    own = os.environ | {"ONEDNN_VERBOSE": "1"} | {name: str(value) for name, value in environment.items()}
    done = captured([PYTHON, PROGRAM, folder, *arguments], env=own, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = re.findall(r"^onednn_verbose,.*,exec,cpu,inner_product,.*$", done.stdout, re.MULTILINE)
    difference = re.search(r"^difference: (\S+)$", done.stdout, re.MULTILINE)
    assert len(lines) == 2, done.stdout
    assert difference, done.stdout
    return lines, float(difference[1]), done.stdout


@pytest.mark.parametrize("variable", WAYS)
def test_linear_layers(tmp_path: Path, variable: str) -> None:
    """Two inner products with bias and post-ops, whose weights a reorder packs."""
    lines, difference, output = products(tmp_path, **{variable: WAYS[variable]})
    assert all("inner_product,matmul_" in line for line in lines), output
    assert "attr-post-ops:eltwise_relu+eltwise_linear:1,,mb8ic64oc128," in lines[0]
    assert difference < 1e-5


@pytest.mark.parametrize(("weights", "mask"), [("tensor", 0), ("columns", 1)])
def test_linear_layers_in_int8(tmp_path: Path, engine: zemm.Engine, weights: str, mask: int) -> None:
    """s8 by s8 to u8, which the second layer multiplies, with the numbers of Paddle's own oneDNN, if the CPU
    has dot products of bytes.
    """
    old = {"FLAGS_enable_pir_api": 0}
    own, own_difference, output = products(tmp_path / "own", weights, **old)
    assert not any("inner_product,matmul_" in line for line in own), output
    lines, difference, output = products(tmp_path / "zemm", weights, **old, LD_PRELOAD=LIBRARY)
    assert all("inner_product,matmul_int8_" in line for line in lines), output
    first, second = lines
    assert re.search(r"src:s8:.* wei:s8:.* dst:u8:", first), output
    assert f"attr-scales:src0:0:f32+dst:0:f32+wei:{mask}:f32 attr-post-ops:eltwise_relu+" in first
    assert re.search(rf"src:u8:.* wei:s8:.* dst:f32:.*attr-scales:src0:0:f32\+wei:{mask}:f32 ", second), (
        output
    )
    assert difference < 0.05
    if not HAS_VNNI & set(engine.features):
        return  # oneDNN's sums of pairs saturate there
    got, want = (np.load(tmp_path / name / "y.npy") for name in ("zemm", "own"))
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-5)
    assert own_difference < 0.05


def test_layers_that_zemm_lacks(tmp_path: Path) -> None:
    """The log names the primitive. Paddle computes such layers itself, if oneDNN gets linear layers only."""
    own = os.environ | {"LD_PRELOAD": str(LIBRARY)}
    done = captured([PYTHON, PROGRAM, tmp_path, "softmax"], env=own, timeout=300)
    assert done.returncode != 0
    assert done.stdout.count("onednn_verbose,v1,primitive,error,unimplemented,zemm has no softmax: ") == 1
    assert "std::exception" in done.stderr
    _, difference, _ = products(tmp_path, "softmax", "fc", FLAGS_enable_pir_api=0, LD_PRELOAD=LIBRARY)
    assert difference < 1e-5
