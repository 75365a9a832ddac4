# SPDX-License-Identifier: Apache-2.0
"""The primitive dynamic_quantize: it gives numpy's values, scales, zero points and sums, and refuses what
does not belong together.
"""

import numpy as np
import pytest
import zemm
from numpy.typing import NDArray
from support_execute import memory_of
from zemm import MemoryDesc

Arrays = dict[int, NDArray[np.generic]]
ROWS, K = (2, 3), 96


def quantise(engine: zemm.Engine, x: NDArray[np.floating], arrays: Arrays, **options: zemm.Attr) -> None:
    """Fills the arrays, which are by ARG."""
    memories = {zemm.ARG_SRC: memory_of(engine, x)}
    memories |= {arg: memory_of(engine, a) for arg, a in arrays.items()}
    optional = (memories.get(arg) for arg in (zemm.ARG_DYNAMIC_ZERO_POINT, zemm.ARG_DYNAMIC_REDUCTIONS))
    pd = zemm.DynamicQuantizePrimitiveDesc(
        engine,
        *(memories[arg].md for arg in (zemm.ARG_SRC, zemm.ARG_DST, zemm.ARG_DYNAMIC_SCALE)),
        *(None if memory is None else memory.md for memory in optional),
        **options,
    )
    stream = zemm.Stream(engine)
    zemm.Primitive(pd).execute(stream, memories)
    stream.wait()
    for arg, array in arrays.items():
        array[...] = memories[arg].as_numpy()


def outputs(x: NDArray[np.floating], scales: tuple[int, ...], dtype: str, scale: str = "f32") -> Arrays:
    arrays: Arrays = {
        zemm.ARG_DST: np.full(x.shape, 77, zemm.numpy_dtype(dtype)),
        zemm.ARG_DYNAMIC_SCALE: np.full(scales, 77, zemm.numpy_dtype(scale)),
        zemm.ARG_DYNAMIC_REDUCTIONS: np.full(scales, 77, np.int32),
    }
    if dtype == "u8":
        arrays[zemm.ARG_DYNAMIC_ZERO_POINT] = np.full(scales, 77, np.int32)
    return arrays


def check(
    arrays: Arrays, x: NDArray[np.floating], group: int, dtype: str, scale: str, **options: bool
) -> None:
    """Bits are those of numpy for x [.., K]."""
    want = zemm.quantize_activations(x, group, scale, dtype=dtype, **options)
    names = [zemm.ARG_DST, zemm.ARG_DYNAMIC_SCALE]
    names += [zemm.ARG_DYNAMIC_ZERO_POINT] if dtype == "u8" else []
    for arg, array in zip([*names, zemm.ARG_DYNAMIC_REDUCTIONS], want, strict=True):
        assert array.size == arrays[arg].size
        assert np.array_equal(array.reshape(-1), arrays[arg].reshape(-1)), arg


@pytest.mark.quick(cases=lambda src, scale, dtype: src == "f32" and scale == "f32")
@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("scale", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("src", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_rows_and_groups(engine: zemm.Engine, groups: int, src: str, scale: str, dtype: str) -> None:
    x = np.random.default_rng(groups).standard_normal((*ROWS, K)).astype(zemm.numpy_dtype(src))
    arrays = outputs(x, (*ROWS, groups), dtype, scale)
    quantise(engine, x, arrays)
    check(arrays, x, K // groups, dtype, scale)


@pytest.mark.parametrize("dtype", ["s8", "u8"])
@pytest.mark.parametrize("shape", [(K,), (1, K), (5, 7), (2, 3, 16)])
def test_a_tensor(engine: zemm.Engine, shape: tuple[int, ...], dtype: str) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    arrays = outputs(x, (1,) * x.ndim, dtype)
    quantise(engine, x, arrays)
    check(arrays, x.reshape(1, -1), x.size, dtype, "f32")


def test_reduced_range(engine: zemm.Engine) -> None:
    x = np.random.default_rng(2).standard_normal((4, K)).astype(np.float32)
    attr = zemm.Attr()
    attr.set_reduced_range(zemm.ARG_DST)
    arrays = outputs(x, (4, 2), "s8")
    quantise(engine, x, arrays, attr=attr)
    check(arrays, x, K // 2, "s8", "f32", reduced_range=True)


def test_without_sums(engine: zemm.Engine) -> None:
    x = np.random.default_rng(3).standard_normal((4, K)).astype(np.float32)
    arrays = outputs(x, (4, 1), "s8")
    del arrays[zemm.ARG_DYNAMIC_REDUCTIONS]
    quantise(engine, x, arrays)
    assert np.array_equal(arrays[zemm.ARG_DST], zemm.quantize_activations(x, K, "f32")[0])


@pytest.mark.parametrize("dtype", ["s8", "u8"])
def test_subnormal_scales(engine: zemm.Engine, dtype: str) -> None:
    x = np.random.default_rng(5).standard_normal((4, K)).astype(np.float32) * np.float32(3e-4)
    arrays = outputs(x, (4, 2), dtype, "f16")
    quantise(engine, x, arrays)
    check(arrays, x, K // 2, dtype, "f16")
    assert (arrays[zemm.ARG_DYNAMIC_SCALE] < np.float16(2.0**-14)).all()


@pytest.mark.parametrize("shape", [(0, K), (3, 0)])
def test_empty(engine: zemm.Engine, shape: tuple[int, int]) -> None:
    x = np.empty(shape, np.float32)
    quantise(engine, x, outputs(x, (shape[0], 1), "s8"))


def test_feeds_a_matmul(engine: zemm.Engine) -> None:
    """Values, scales, and sums as precomputed reductions."""
    rng = np.random.default_rng(4)
    x, group = rng.standard_normal((8, K)).astype(np.float32), K // 3
    arrays = outputs(x, (8, 3), "s8")
    quantise(engine, x, arrays)
    weights = rng.integers(0, 256, (K, 32)).astype(np.uint8)
    zero_points = rng.integers(0, 256, (3, 32)).astype(np.uint8)
    y = zemm.matmul(
        arrays[zemm.ARG_DST],
        weights,
        src_scales=arrays[zemm.ARG_DYNAMIC_SCALE],
        weights_zero_points=zero_points,
        reductions=arrays[zemm.ARG_DYNAMIC_REDUCTIONS],
        engine=engine,
    )
    exact = x.astype(np.float64) @ (weights - np.repeat(zero_points, group, 0).astype(np.float64))
    assert np.abs(y - exact).max() < 0.02 * np.abs(exact).max()


def test_queries(engine: zemm.Engine) -> None:
    x, dst = MemoryDesc((4, K), "f32"), MemoryDesc((4, K), "u8")
    parameter = MemoryDesc((4, 3), "s32")
    scale = MemoryDesc((4, 3), "f16")
    pd = zemm.DynamicQuantizePrimitiveDesc(engine, x, dst, scale, parameter, parameter)
    assert [pd.query_md("src_md"), *(pd.query_md("dst_md", i) for i in range(4))] == [
        x,
        dst,
        scale,
        parameter,
        parameter,
    ]
    assert pd.impl_info == "quantize"


@pytest.mark.parametrize("arg", [zemm.ARG_DST, zemm.ARG_DYNAMIC_SCALE, zemm.ARG_DYNAMIC_REDUCTIONS])
def test_a_memory_that_is_too_small(engine: zemm.Engine, arg: int) -> None:
    """Or missing: nothing is written."""
    x = np.ones((4, K), np.float32)
    arrays = outputs(x, (4, 1), "s8")
    right = {zemm.ARG_SRC: memory_of(engine, x)}
    right |= {a: memory_of(engine, array) for a, array in arrays.items()}
    mds = [right[a].md for a in (zemm.ARG_SRC, zemm.ARG_DST, zemm.ARG_DYNAMIC_SCALE)]
    primitive = zemm.Primitive(
        zemm.DynamicQuantizePrimitiveDesc(engine, *mds, None, right[zemm.ARG_DYNAMIC_REDUCTIONS].md)
    )
    less = memory_of(engine, np.ascontiguousarray(arrays[arg][:3]))
    stream = zemm.Stream(engine)
    needed = "was made for s8 4x96" if arg == zemm.ARG_DST else "needs 4 dense elements"
    for args, sentence in (
        (right | {arg: less}, f"ARG_.*the primitive {needed}"),
        ({a: m for a, m in right.items() if a != arg}, "ARG_"),
    ):
        with pytest.raises(zemm.InvalidArgumentsError, match=sentence):
            primitive.execute(stream, args)
    stream.wait()
    assert all((right[a].as_numpy() == 77).all() for a in arrays)
