# SPDX-License-Identifier: Apache-2.0
"""Small launches run on the thread that executes them, while the stream has nothing else to do. Others are
submitted, and the results are the same."""

from typing import Any

import numpy as np
import pytest
import zemm
from zemm import ARG_DST, ARG_FROM, ARG_SRC, ARG_TO, ARG_WEIGHTS

ARG_SCALES = zemm.ARG_ATTR_SCALES | ARG_DST
RNG = np.random.default_rng(32)


@pytest.fixture(scope="module")
def engine() -> zemm.Engine:
    return zemm.Engine("cpu")


def memory(array: np.ndarray[Any, Any], engine: zemm.Engine) -> zemm.Memory:
    names = {"float32": "f32", "int8": "s8"}
    return zemm.Memory(zemm.MemoryDesc(array.shape, names[array.dtype.name]), engine, array)


def matmul(engine: zemm.Engine, m: int, k: int, n: int, dtype: str) -> tuple[zemm.Primitive, Any, Any]:
    """A primitive, its arguments and its dst."""
    if dtype == "s8":
        src, wei = (RNG.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (k, n)))
    else:
        src, wei = (RNG.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
    dst = np.zeros((m, n), np.float32)
    memories = [memory(array, engine) for array in (src, wei, dst)]
    primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *(m.md for m in memories)))
    return primitive, dict(zip((ARG_SRC, ARG_WEIGHTS, ARG_DST), memories, strict=True)), dst


def quantize(engine: zemm.Engine, k: int) -> tuple[zemm.Primitive, Any, Any]:
    """A brief launch that quantises a row to s8."""
    src = RNG.standard_normal((1, k)).astype(np.float32)
    dst, scales = np.zeros((1, k), np.int8), np.zeros((1, k // 64), np.float32)
    memories = [memory(array, engine) for array in (src, dst, scales)]
    attr = zemm.Attr()
    attr.set_scales(ARG_DST, 3, (1, 64), "f32", quantization_mode="dynamic_fp")
    primitive = zemm.Primitive(zemm.ReorderPrimitiveDesc(engine, memories[0].md, memories[1].md, attr))
    return primitive, dict(zip((ARG_FROM, ARG_TO, ARG_SCALES), memories, strict=True)), dst


CASES = {
    "s8": lambda engine: matmul(engine, 1, 64, 64, "s8"),
    "f32": lambda engine: matmul(engine, 3, 129, 17, "f32"),
    "quantise": lambda engine: quantize(engine, 4096),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("profiling", [False, True])
def test_small_launches(engine: zemm.Engine, case: str, profiling: bool) -> None:
    primitive, args, dst = CASES[case](engine)
    large, large_args, _ = matmul(engine, 16, 512, 512, "f32")
    with zemm.Stream(engine, profiling=profiling) as stream:
        primitive.execute(stream, args)
        at_once = dst.copy()  # before the wait
        assert at_once.any()
        dst[:] = 0
        large.execute(stream, large_args)
        primitive.execute(stream, args)  # after what the stream has to do
        stream.wait()
        np.testing.assert_array_equal(dst, at_once)
        if profiling:
            assert len(stream.profiling_times()) == 3


def test_order(engine: zemm.Engine) -> None:
    """A small launch reads what a large one has written, and the other way round."""
    first, first_args, middle = matmul(engine, 1, 256, 4096, "f32")
    row = memory(middle, engine)
    out = np.zeros((1, 4), np.float32)
    wei = RNG.standard_normal((4096, 4)).astype(np.float32)
    small_args = {
        ARG_SRC: row,
        ARG_WEIGHTS: memory(wei, engine),
        ARG_DST: memory(out, engine),
    }
    small = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *(m.md for m in small_args.values())))
    with zemm.Stream(engine) as stream:
        for i in range(20):
            middle[:] = 0
            out[:] = 0
            if i % 2:
                stream.wait()
            first.execute(stream, first_args)
            small.execute(stream, small_args)
            stream.wait()
            np.testing.assert_allclose(out, middle @ wei, rtol=1e-3, atol=1e-2)
