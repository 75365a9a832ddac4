# SPDX-License-Identifier: Apache-2.0
"""The CPU driver's software versions of Intel's sub-group builtins, each against its specification in numpy.

The kernels are SPIR-V that imports the builtins; the driver links its own. Each sub-group has its own data.
"""

import functools

import numpy as np
import pytest
from support_block_2d import BLOCKS, LANES, Block, block_kernel, dealt, read, written
from support_builtins import DPAS, Dpas, dpas_kernel, multiply, random_words
from support_guard_pages import before_a_guard
from support_level_zero import Driver, Module, compile_opencl, compilers

pytestmark = pytest.mark.skipif(
    not compilers(), reason="no clang-N with an llvm-spirv-N to compile the kernels"
)

SUB_GROUPS = 3


@pytest.fixture(scope="module")
def driver() -> Driver:
    return Driver()


@functools.cache
def dpas_module(driver: Driver, lanes: int) -> Module:
    return driver.module(compile_opencl("\n".join(dpas_kernel(d) for d in DPAS if d.lanes == lanes)))


@pytest.mark.parametrize("builtin", DPAS, ids=str)
def test_dpas(driver: Driver, builtin: Dpas) -> None:
    rng = np.random.default_rng(len(str(builtin)) * 8 + builtin.m)
    a = random_words(rng, builtin.a, (SUB_GROUPS, builtin.lanes, builtin.a_components), builtin.a_bits)
    b = random_words(rng, builtin.b, (SUB_GROUPS, builtin.lanes, builtin.b_components), 32)
    acc = random_words(rng, builtin.acc, (SUB_GROUPS, builtin.lanes, builtin.m), builtin.acc_bits)
    expected = np.stack([multiply(builtin, *of_one) for of_one in zip(a, b, acc, strict=True)])
    dpas_module(driver, builtin.lanes).run(str(builtin), [a, b, acc], 1, SUB_GROUPS * builtin.lanes)
    np.testing.assert_array_equal(acc, expected)


@functools.cache
def block_module(driver: Driver, access: str) -> Module:
    return driver.module(compile_opencl("\n".join(block_kernel(b) for b in BLOCKS if b.access == access)))


def positions(b: Block, columns: int, rows: int) -> np.ndarray:
    """Inside, over every edge and corner, and wholly outside."""
    wide, high = b.columns * b.count, b.rows
    xs = [
        0,
        4,
        columns - wide,
        columns - wide + 4,
        columns - 4,
        columns,
        -4,
        4 - wide,
        -wide,
        2**31 - 4,
        -(2**31),
    ]
    ys = [0, 3, rows - high, rows - high + 1, rows - 1, rows, -1, 1 - high, -high, 2**31 - 1, -(2**31)]
    rng = np.random.default_rng(1)
    return np.concatenate([np.stack([rng.permutation(xs), rng.permutation(ys)], 1) for _ in range(4)]).astype(
        np.int32
    )


# The specification wants a width of 64 bytes, a pitch of 16 and an aligned base; the driver does not.
@pytest.mark.parametrize(("width", "height", "pitch", "offset"), [(144, 40, 160, 64), (73, 37, 77, 3)])
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.access != "prefetch"], ids=str)
def test_block_2d(driver: Driver, block: Block, width: int, height: int, pitch: int, offset: int) -> None:
    rng = np.random.default_rng(7)
    size = block.bits // 8
    coords = positions(block, width // size, height)
    memory = before_a_guard(offset + len(coords) * height * pitch)[offset:]
    memory[:] = rng.integers(1, 256, memory.shape)  # no zeros: those stand for what is outside
    data = rng.integers(0, 256, (len(coords), LANES, block.values * block.value_bits // 8), dtype=np.uint8)
    data = data.view(f"u{block.value_bits // 8}")
    matrices = memory.reshape(len(coords), height, pitch)
    before, values = matrices.copy(), data.copy()
    arguments = [memory, width, height, pitch, coords, len(coords), data]
    block_module(driver, block.access).run(str(block), arguments, -(-len(coords) // 4), 4 * LANES)

    used = width // size * size
    defined = dealt(block)[..., 0, 0] >= 0
    for i, (x, y) in enumerate(coords.tolist()):
        matrix = np.ascontiguousarray(before[i, :, :used]).view(f"u{size}")
        if block.access == "write":
            before[i, :, :used] = written(block, matrix, x, y, values[i]).view(np.uint8)
        else:
            expected = read(block, matrix, x, y)
            np.testing.assert_array_equal(data[i][defined], expected[defined], f"at {x}, {y}")
    np.testing.assert_array_equal(matrices, before)


def test_prefetch_does_nothing(driver: Driver) -> None:
    prefetches = [b for b in BLOCKS if b.access == "prefetch"]
    module = driver.module(compile_opencl("\n".join(block_kernel(b) for b in prefetches)))
    memory = np.arange(64 * 64, dtype=np.uint8)
    coords = np.array([[0, 0], [-8, -8], [60, 60], [2**30, 0]], np.int32)
    for block in prefetches:
        module.run(str(block), [memory, 64, 64, 64, coords, len(coords), memory], 1, 4 * LANES)
    np.testing.assert_array_equal(memory, np.arange(64 * 64, dtype=np.uint8))
