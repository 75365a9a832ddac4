# SPDX-License-Identifier: Apache-2.0
"""The CPU driver's software versions of builtins (fma of f16, Intel's for sub-groups), compared with
numpy versions.

The numpy versions follow the specifications. The kernels are SPIR-V that imports the builtins, and
the driver links its own. Each sub-group has its own data.
"""

import functools
import zlib

import numpy as np
import pytest
from support_block_2d import BLOCKS, FLAT, LANES, Block, block_kernel, dealt, flat_kernel, read, written
from support_builtins import (
    DPAS,
    Dpas,
    dpas_kernel,
    multiply,
    random_a,
    random_words,
    to_bits,
    to_float,
)
from support_guard_pages import before_a_guard
from support_level_zero import Driver, Module, compile_opencl, compilers

pytestmark = pytest.mark.skipif(
    not compilers(), reason="no clang-N with an llvm-spirv-N to compile the kernels"
)

SUB_GROUPS = 3


@pytest.fixture(scope="session")
def driver() -> Driver:
    return Driver()


FMA = """
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
kernel void everywhere(global half *a, global half *b, global half *c) {
    const size_t i = get_global_id(0);
    c[i] = fma(a[i], b[i], c[i]);
}
__attribute__((intel_reqd_sub_group_size(16)))
kernel void in_some_lanes(global half *a, global half *b, global half *c) {
    const size_t i = get_global_id(0);
    if (i % 3)
        c[i] = fma(a[i], b[i], c[i]);
}
"""


@pytest.mark.parametrize("kernel", ["everywhere", "in_some_lanes"])
def test_fma_of_f16(driver: Driver, kernel: str) -> None:
    """The driver has fma() of f16 itself, with one rounding."""
    rng = np.random.default_rng(5)
    special = np.array([0, 1, 0x3FF, 0x400, 0x3C00, 0x3C01, 0x7BFF, 0x7C00, 0x7E00], np.uint16)
    special = np.concatenate([special, special | 0x8000])
    a, b, c = (
        np.concatenate([grid.ravel(), rng.integers(0, 1 << 16, 100_000, dtype=np.uint16)]).view(np.float16)
        for grid in np.meshgrid(special, special, special)
    )
    # Sums halfway between two values, and beside that: c plus about half of its last place.
    near = rng.integers(0x3C00, 0x4400, 20_000, dtype=np.uint16).view(np.float16)
    a = np.concatenate([a, 1 + np.ldexp(rng.integers(-1, 2, near.size), -10).astype(np.float16)])
    b = np.concatenate([b, np.spacing(near) / 2 * rng.choice([-1, 1], near.size).astype(np.float16)])
    c = np.concatenate([c, near])
    with np.errstate(all="ignore"):
        # A sum that is inexact in f64 is not near the middle of two f16.
        expected = (a.astype(np.float64) * b + c).astype(np.float16)
    if kernel == "in_some_lanes":
        expected = np.where(np.arange(c.size) % 3, expected, c)
    group = 16
    count = -(-c.size // group) * group
    padded = [np.resize(x, count) for x in (a, b, c)]
    driver.module(compile_opencl(FMA)).run(kernel, padded, count // group, group)
    got = padded[2][: c.size]
    same = (got == expected) & (np.signbit(got) == np.signbit(expected)) | np.isnan(got) & np.isnan(expected)
    assert same.all(), [(x[~same][:5]) for x in (a, b, c, got, expected)]


@functools.cache
def dpas_module(driver: Driver, lanes: int) -> Module:
    return driver.module(compile_opencl("\n".join(dpas_kernel(d) for d in DPAS if d.lanes == lanes)))


@pytest.mark.quick(cases=lambda builtin: builtin.lanes == 8)
@pytest.mark.xdist_group("dpas")
@pytest.mark.parametrize("builtin", DPAS, ids=str)
def test_dpas(driver: Driver, builtin: Dpas) -> None:
    rng = np.random.default_rng(zlib.crc32(str(builtin).encode()))
    a = random_a(rng, builtin, SUB_GROUPS)
    b = random_words(rng, builtin.b, (SUB_GROUPS, builtin.lanes, builtin.b_components), 32)
    acc = random_words(rng, builtin.acc, (SUB_GROUPS, builtin.lanes, builtin.m), builtin.acc_bits)
    expected = np.stack([multiply(builtin, *of_one) for of_one in zip(a, b, acc, strict=True)])
    dpas_module(driver, builtin.lanes).run(str(builtin), [a, b, acc], 1, SUB_GROUPS * builtin.lanes)
    np.testing.assert_array_equal(acc, expected)


@pytest.mark.quick(cases=lambda builtin: builtin.lanes == 8)
@pytest.mark.xdist_group("dpas")
@pytest.mark.parametrize("builtin", [d for d in DPAS if d.acc != "s32" and d.m == 1 and not d.flat], ids=str)
def test_dpas_of_special_values(driver: Driver, builtin: Dpas) -> None:
    """Infinities, NaN, the largest and the smallest value: one element of a for each column, times
    1, plus 0.
    """
    tiny = {"f16": 2.0**-24, "bf16": 2.0**-126, "tf32": 2.0**-126}[builtin.a]
    large = {"f16": 65504.0, "bf16": 3.3895314e38, "tf32": 3.4011621e38}[builtin.a]
    kind = "f32" if builtin.a == "tf32" else builtin.a
    for value in (np.inf, -np.inf, np.nan, tiny, large, -0.0, 1.5):
        a = np.zeros((builtin.lanes, 1), f"u{builtin.a_bits // 8}")
        a[0, 0] = to_bits(np.float32([value]), kind)[0]  # k = 0 is in the lowest bits of lane 0
        b = np.zeros((builtin.lanes, builtin.b_components), np.uint32)
        b[:, 0] = to_bits(np.float32([1]), kind)[0]
        acc = np.zeros((builtin.lanes, 1), f"u{builtin.acc_bits // 8}")
        dpas_module(driver, builtin.lanes).run(str(builtin), [a, b, acc], 1, builtin.lanes)
        np.testing.assert_array_equal(to_float(acc, builtin.acc), np.full(acc.shape, np.float32(value)))


@pytest.mark.full  # 16 lanes
@pytest.mark.xdist_group("dpas")
@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_dpas_rounds_to_even(driver: Driver, kind: str) -> None:
    """Sums halfway between two values of the accumulator, and next to that."""
    builtin = Dpas(kind, kind, kind, 16, 1, 16)
    step = 2.0 ** (-10 if kind == "f16" else -7)  # distance of the values from 1 to 2
    acc_values = np.float32(1 + step * np.arange(16))
    for share in (0.5, 0.5 + 2.0**-6, 0.5 - 2.0**-6):
        a, b = np.zeros((16, 1), np.uint16), np.zeros((16, 8), np.uint32)
        a[0, 0] = to_bits(np.float32([share]), kind)[0]
        b[:, 0] = to_bits(np.float32([step]), kind)[0]
        acc = to_bits(acc_values, kind).reshape(16, 1)
        dpas_module(driver, 16).run(str(builtin), [a, b, acc], 1, 16)
        sums = acc_values.astype(np.float64) + step * share
        expected = np.float32(np.rint((sums - 1) / step) * step + 1)  # rint: ties to even
        np.testing.assert_array_equal(to_float(acc, kind)[:, 0], expected)


@functools.cache
def block_module(driver: Driver, access: str) -> Module:
    return driver.module(compile_opencl("\n".join(block_kernel(b) for b in BLOCKS if b.access == access)))


def positions(b: Block, columns: int, rows: int) -> np.ndarray:
    """Positions inside the matrix, across every edge and corner, and wholly outside."""
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


# The specification asks for a width of at least 64 bytes, a pitch that is a multiple of 16 and an
# aligned base. The driver does not need that.
@pytest.mark.quick(cases=lambda block, width: width == 73 and block.rows in (1, 8, 32))
@pytest.mark.parametrize(("width", "height", "pitch", "offset"), [(144, 40, 160, 64), (73, 37, 77, 3)])
@pytest.mark.parametrize("block", [b for b in BLOCKS if b.access != "prefetch"], ids=str)
def test_block_2d(driver: Driver, block: Block, width: int, height: int, pitch: int, offset: int) -> None:
    rng = np.random.default_rng(7)
    size = block.bits // 8
    coords = positions(block, width // size, height)
    memory = before_a_guard(offset + len(coords) * height * pitch)[offset:]
    memory[:] = rng.integers(1, 256, memory.shape)  # no zeros: 0 stands for elements outside of the matrix
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


@functools.cache
def flat_module(driver: Driver) -> Module:
    return driver.module(compile_opencl("\n".join(flat_kernel(b) for b in FLAT)))


@pytest.mark.parametrize("block", FLAT, ids=str)
def test_block_2d_by_the_compilers_own_names(driver: Driver, block: Block) -> None:
    rng = np.random.default_rng(8)
    width, height, pitch, size = 144, 40, 160, block.bits // 8
    coords = positions(block, width // size, height)
    memory = rng.integers(1, 256, (height, pitch), dtype=np.uint8)
    data = np.zeros((len(coords), LANES, block.values), f"u{block.value_bits // 8}")
    arguments = [memory, width, height, pitch, coords, len(coords), data]
    flat_module(driver).run(f"flat_{block}", arguments, -(-len(coords) // 4), 4 * LANES)
    matrix = np.ascontiguousarray(memory[:, :width]).view(f"u{size}")
    for i, (x, y) in enumerate(coords.tolist()):
        np.testing.assert_array_equal(data[i], read(block, matrix, x, y), f"at {x}, {y}")


def test_prefetch_does_nothing(driver: Driver) -> None:
    prefetches = [b for b in BLOCKS if b.access == "prefetch"]
    module = driver.module(compile_opencl("\n".join(block_kernel(b) for b in prefetches)))
    memory = np.arange(64 * 64, dtype=np.uint8)
    coords = np.array([[0, 0], [-8, -8], [60, 60], [2**30, 0]], np.int32)
    for block in prefetches:
        module.run(str(block), [memory, 64, 64, 64, coords, len(coords), memory], 1, 4 * LANES)
    np.testing.assert_array_equal(memory, np.arange(64 * 64, dtype=np.uint8))


DIVERGENT_KERNELS = """
int8 __attribute__((overloadable)) intel_sub_group_i8_i8_matrix_mad_k32({a} a, int8 b, int8 acc);

/// Sub-group i multiplies i times; the third one leaves.
__attribute__((intel_reqd_sub_group_size({lanes}))) kernel void leave(
    global {a} *a, global int8 *b, global int8 *acc) {{
    const size_t i = get_global_id(0);
    if (get_sub_group_id() == 2)
        return;
    for (uint n = 0; n < get_sub_group_id(); n++)
        acc[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i], b[i], acc[i]);
}}

/// Every other sub-group multiplies; then all sums of a lane are added up through local memory.
__attribute__((intel_reqd_sub_group_size({lanes}))) kernel void meet(
    global {a} *a, global int8 *b, global int8 *acc) {{
    local int8 sums[64];
    const size_t i = get_local_id(0);
    sums[i] = acc[i];
    if (get_sub_group_id() % 2)
        sums[i] = intel_sub_group_i8_i8_matrix_mad_k32(a[i], b[i], acc[i]);
    barrier(CLK_LOCAL_MEM_FENCE);
    int8 sum = 0;
    for (uint n = get_sub_group_local_id(); n < get_local_size(0); n += {lanes})
        sum += sums[n];
    acc[i] = sum;
}}
"""


@pytest.mark.parametrize("lanes", [8, 16])
def test_sub_groups_go_their_own_ways(driver: Driver, lanes: int) -> None:
    builtin = Dpas("i8", "i8", "s32", lanes, 8, 32)
    source = DIVERGENT_KERNELS.format(lanes=lanes, a="int8" if lanes == 8 else "short8")
    module = driver.module(compile_opencl(source))
    rng = np.random.default_rng(lanes)
    a = random_words(rng, "i8", (4, lanes, 8), builtin.a_bits)
    b = random_words(rng, "i8", (4, lanes, 8), 32)
    acc = random_words(rng, "s32", (4, lanes, 8), 32)
    expected = acc.copy()
    for group, times in enumerate((0, 1, 0, 3)):
        for _ in range(times):
            expected[group] = multiply(builtin, a[group], b[group], expected[group])
    got = acc.copy()
    module.run("leave", [a, b, got], 1, 4 * lanes)
    np.testing.assert_array_equal(got, expected)
    sums = acc.copy()
    for group in (1, 3):
        sums[group] = multiply(builtin, a[group], b[group], acc[group])
    got = acc.copy()
    module.run("meet", [a, b, got], 1, 4 * lanes)
    np.testing.assert_array_equal(got, np.broadcast_to(sums.sum(0, dtype=np.uint32), got.shape))


TF32_KERNEL = """
float{n} {overloadable} intel_convert_tfloat32{n}_as_float{n}(float{n} value);
kernel void convert(global float *from, global float *to) {{
    const size_t i = get_global_id(0);
    ((global float{n} *)to)[i] = intel_convert_tfloat32{n}_as_float{n}(((global float{n} *)from)[i]);
}}
"""


@pytest.mark.parametrize("n", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("overloadable", ["", "__attribute__((overloadable))"])
def test_tf32_conversion(driver: Driver, n: int, overloadable: str) -> None:
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, 1024, dtype=np.uint64).astype(np.uint32)
    bits[:6] = [0x3F801000, 0x3F803000, 0x3F801001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000]  # ties, overflow
    source = TF32_KERNEL.format(n=n if n > 1 else "", overloadable=overloadable)
    to = np.zeros(1024, np.uint32)
    driver.module(compile_opencl(source)).run("convert", [bits, to], 64 // n, 16)
    below = bits & 0xFFFFE000
    above = below + 0x2000
    rest = bits - below
    up = (rest > 0x1000) | ((rest == 0x1000) & (below >> 13 & 1 == 1))
    finite = (bits & 0x7F800000) != 0x7F800000
    np.testing.assert_array_equal(to, np.where(finite, np.where(up, above, below), bits))


@pytest.mark.parametrize("saturate", ["false", "true"])
@pytest.mark.parametrize("pair", ["ss", "su", "us", "uu"])
def test_dp4a(driver: Driver, pair: str, saturate: str) -> None:
    """Every product of two bytes, and sums around the largest and the smallest value of 32 bits."""
    name = f"__builtin_IB_dp4a_{pair}"
    source = f"""
int {name}(int sum, int a, int b, bool saturate);
kernel void dp4a(global int *a, global int *b, global int *sum) {{
    const size_t i = get_global_id(0);
    sum[i] = {name}(sum[i], a[i], b[i], {saturate});
}}"""
    rng = np.random.default_rng(5)
    pairs = np.arange(1 << 16)
    a = np.stack([pairs & 255, pairs >> 8, pairs & 255, rng.integers(0, 256, pairs.size)], 1).astype(np.uint8)
    b = np.stack([pairs >> 8, pairs >> 8, rng.integers(0, 256, pairs.size), pairs & 255], 1).astype(np.uint8)
    edges = np.array([0, 2**31 - 1, 2**31 - 9, 2**31, 2**31 + 9, 2**32 - 1, 2**32 - 9, 7], np.uint32)
    sums = rng.choice(edges, pairs.size)
    values = [x.view(np.int8 if kind == "s" else np.uint8) for x, kind in zip((a, b), pair, strict=True)]
    kind = np.uint32 if pair == "uu" else np.int32
    exact = sums.view(kind).astype(np.int64) + (values[0].astype(np.int64) * values[1]).sum(1)
    limits = np.iinfo(kind)
    if saturate == "true":
        assert (exact > limits.max).any()
        exact = exact.clip(limits.min, limits.max)
    result = sums.copy()
    driver.module(compile_opencl(source)).run(
        "dp4a", [a.view(np.uint32), b.view(np.uint32), result], pairs.size // 64, 64
    )
    np.testing.assert_array_equal(result, exact.astype(np.uint64).astype(np.uint32))


OTHER_KERNELS = """
#define OVERLOADABLE __attribute__((overloadable))
void OVERLOADABLE intel_work_group_barrier_arrive(cl_mem_fence_flags flags);
void OVERLOADABLE intel_work_group_barrier_wait(cl_mem_fence_flags flags);
void OVERLOADABLE intel_sub_group_block_prefetch_ui4(const global uint *p);
void OVERLOADABLE intel_sub_group_block_prefetch_us(const global ushort *p);

__attribute__((intel_reqd_sub_group_size(16))) kernel void reverse(global int *data) {
    local int copy[256];
    const int i = get_local_id(0), last = get_local_size(0) - 1;
    intel_sub_group_block_prefetch_ui4((global uint *)data);
    intel_sub_group_block_prefetch_us((global ushort *)data);
    for (int round = 0; round < 3; round++) {
        copy[i] = data[i];
        intel_work_group_barrier_arrive(CLK_LOCAL_MEM_FENCE);
        data[i] = 0;
        intel_work_group_barrier_wait(CLK_LOCAL_MEM_FENCE);
        data[i] = copy[last - i] + round;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}
"""


def test_split_barrier(driver: Driver) -> None:
    data = np.arange(128, dtype=np.int32)
    driver.module(compile_opencl(OTHER_KERNELS)).run("reverse", [data], 1, 128)
    np.testing.assert_array_equal(data, np.arange(128)[::-1] + 0 + 1 + 2)


# The OpenCL runtime has these functions itself. If it loses one, the Xe kernels no longer run on
# the CPU.
BLOCKS_1D = [
    (suffix, scalar, size, n)
    for suffix, scalar, size in (
        ("uc", "uchar", 1),
        ("us", "ushort", 2),
        ("ui", "uint", 4),
        ("ul", "ulong", 8),
    )
    for n in (1, 2, 4, 8)
]


@pytest.mark.parametrize("lanes", [8, 16])
def test_block_1d(driver: Driver, lanes: int) -> None:
    source = ""
    for suffix, scalar, _, n in BLOCKS_1D:
        vector, name = (f"{scalar}{n}", f"{suffix}{n}") if n > 1 else (scalar, suffix)
        source += f"""
{vector} __attribute__((overloadable)) intel_sub_group_block_read_{name}(const global {scalar} *p);
void __attribute__((overloadable)) intel_sub_group_block_write_{name}(global {scalar} *p, {vector} value);
__attribute__((intel_reqd_sub_group_size({lanes}))) kernel void copy_{suffix}{n}(
    const global {scalar} *from, global {vector} *lane_after_lane, global {scalar} *to) {{
    const int block = get_sub_group_id() * {n * lanes};
    const {vector} value = intel_sub_group_block_read_{name}(from + block);
    lane_after_lane[get_global_id(0)] = value;
    intel_sub_group_block_write_{name}(to + block, value);
}}"""
    module = driver.module(compile_opencl(source))
    for suffix, _, size, n in BLOCKS_1D:
        source_data = np.random.default_rng(n).integers(0, 256, (3, n, lanes, size), dtype=np.uint8)
        by_lane, copy = np.zeros((3, lanes, n, size), np.uint8), np.zeros_like(source_data)
        module.run(f"copy_{suffix}{n}", [source_data, by_lane, copy], 1, 3 * lanes)
        np.testing.assert_array_equal(by_lane, source_data.transpose(0, 2, 1, 3), f"{suffix}{n}")
        np.testing.assert_array_equal(copy, source_data, f"{suffix}{n}")
