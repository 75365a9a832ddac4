# SPDX-License-Identifier: Apache-2.0
"""Atomics on the CPU driver, which adds those that the OpenCL runtime does not have.

SPIR-V has instructions for atomics. The runtime calls OpenCL C 1.x functions in their place. It has
these only for 32 and 64 bits, and only for pointers that are known to be global or local. OpenCL C
2.0 leaves the address space open.
"""

import functools
import itertools
from collections.abc import Callable

import numpy as np
import pytest
from support_level_zero import Driver, Module, compile_opencl, compilers

pytestmark = pytest.mark.skipif(
    not compilers(), reason="no clang-N with an llvm-spirv-N to compile the kernels"
)

ITEMS = 64
INTEGERS = {"char": np.int8, "short": np.int16, "int": np.int32, "long": np.int64}
FLOATS = {"half": np.float16, "float": np.float32, "double": np.float64}
SPACES = ["generic", "global", "local", "private"]

Update = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def unsigned(update: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Update:
    def on_bits(old: np.ndarray, value: np.ndarray, _: np.ndarray) -> np.ndarray:
        kind = f"u{old.itemsize}"
        return update(old.view(kind), value.view(kind)).view(old.dtype)

    return on_bits


# The value in memory afterwards, from the old value, the operand and the comparand.
COMMON: dict[str, Update] = {
    "AtomicLoad": lambda old, value, other: old,
    "AtomicStore": lambda old, value, other: value,
    "AtomicExchange": lambda old, value, other: value,
}
ON_INTEGERS: dict[str, Update] = COMMON | {
    "AtomicCompareExchange": lambda old, value, other: np.where(old == other, value, old),
    "AtomicIIncrement": lambda old, value, other: old + old.dtype.type(1),
    "AtomicIDecrement": lambda old, value, other: old - old.dtype.type(1),
    "AtomicIAdd": lambda old, value, other: old + value,
    "AtomicISub": lambda old, value, other: old - value,
    "AtomicSMin": lambda old, value, other: np.minimum(old, value),
    "AtomicSMax": lambda old, value, other: np.maximum(old, value),
    "AtomicUMin": unsigned(np.minimum),
    "AtomicUMax": unsigned(np.maximum),
    "AtomicAnd": lambda old, value, other: old & value,
    "AtomicOr": lambda old, value, other: old | value,
    "AtomicXor": lambda old, value, other: old ^ value,
}
ON_FLOATS: dict[str, Update] = COMMON | {
    "AtomicFAddEXT": lambda old, value, other: old + value,
    "AtomicFMinEXT": lambda old, value, other: np.fmin(old, value),
    "AtomicFMaxEXT": lambda old, value, other: np.fmax(old, value),
}
OPERATIONS = dict.fromkeys(INTEGERS, ON_INTEGERS) | dict.fromkeys(FLOATS, ON_FLOATS)
# Old translators crash on the addition of halves.
OPERATIONS["half"] = {name: update for name, update in ON_FLOATS.items() if name != "AtomicFAddEXT"}
DEVICE, SEQUENTIALLY_CONSISTENT = 1, 0x10


def kernel(operation: str, scalar: str, space: str) -> str:
    pointer = {"generic": scalar, "private": f"private {scalar}"}.get(space, f"{space} {scalar}") + " *"
    parameters, arguments = "int, int", f"{DEVICE}, {SEQUENTIALLY_CONSISTENT}"
    if operation == "AtomicCompareExchange":
        parameters += f", int, {scalar}, {scalar}"
        arguments += f", {SEQUENTIALLY_CONSISTENT}, value[i], other[i]"
    elif operation not in ("AtomicLoad", "AtomicIIncrement", "AtomicIDecrement"):
        parameters, arguments = f"{parameters}, {scalar}", f"{arguments}, value[i]"
    is_store = operation == "AtomicStore"
    result = "void" if is_store else scalar
    own = {
        "generic": f"{scalar} *p = memory + i;",
        "global": f"global {scalar} *p = memory + i;",
        "local": f"local {scalar} copy[{ITEMS}], *p = copy + get_local_id(0); *p = memory[i];",
        "private": f"{scalar} copy = memory[i]; private {scalar} *p = &copy;",
    }[space]
    return f"""
{result} __attribute__((overloadable)) __spirv_{operation}(volatile {pointer}, {parameters});
kernel void {operation}(global {scalar} *memory, global {scalar} *value, global {scalar} *other,
                        global {scalar} *old) {{
    const size_t i = get_global_id(0);
    {own}
    {"" if is_store else "old[i] = "}__spirv_{operation}(p, {arguments});
    {"memory[i] = *p;" if space in ("local", "private") else ""}
}}"""


@pytest.fixture(scope="session")
def driver() -> Driver:
    return Driver()


@functools.cache
def module(driver: Driver, scalar: str, space: str) -> Module:
    kernels = [kernel(operation, scalar, space) for operation in OPERATIONS[scalar]]
    extensions = (
        "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n"
    )
    return driver.module(compile_opencl(extensions + "\n".join(kernels)))


def numbers(rng: np.random.Generator, dtype: type[np.generic]) -> np.ndarray:
    if np.issubdtype(dtype, np.floating):
        values = rng.normal(size=ITEMS).astype(dtype)
        values[:6] = [0.0, -0.0, np.inf, -np.inf, 1.0, -1.0]
        return rng.permutation(values)
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, ITEMS, dtype=dtype, endpoint=True)
    values[:6] = [limits.min, limits.max, 0, 1, -1, 2]
    return rng.permutation(values)


@pytest.mark.each_value
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("scalar", [*INTEGERS, *FLOATS])
def test_every_operation(driver: Driver, scalar: str, space: str) -> None:
    dtype = (INTEGERS | FLOATS)[scalar]
    rng = np.random.default_rng(3)
    for operation, update in OPERATIONS[scalar].items():
        before, value, other = (numbers(rng, dtype) for _ in range(3))
        other[::2] = before[::2]
        memory, old = before.copy(), before.copy()
        module(driver, scalar, space).run(operation, [memory, value, other, old], 1, ITEMS)
        with np.errstate(all="ignore"):
            expected = update(before, value, other)
        np.testing.assert_array_equal(
            old.view(f"u{old.itemsize}"), before.view(f"u{old.itemsize}"), operation
        )
        np.testing.assert_array_equal(memory, expected, operation)


def test_a_load_writes_nothing(driver: Driver) -> None:
    """The runtime implements a load as the addition of 0, which would turn -0 into 0."""
    for scalar, space in itertools.product(FLOATS, ["generic", "private"]):
        memory = np.full(ITEMS, -0.0, FLOATS[scalar])
        old = np.zeros_like(memory)
        module(driver, scalar, space).run("AtomicLoad", [memory, memory, memory, old], 1, ITEMS)
        assert np.signbit(old).all()
        assert np.signbit(memory).all()


OPENCL_2 = """
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable

kernel void count(global atomic_int *a, global atomic_uint *b, global atomic_long *c, global atomic_ulong *d,
                  global int *of_groups) {
    local atomic_int in_group;
    if (get_local_id(0) == 0)
        atomic_init(&in_group, 0);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    const int i = get_global_id(0);
    for (int n = 0; n < 10; n++) {
        atomic_fetch_add_explicit(a, 1, memory_order_relaxed, memory_scope_device);
        atomic_fetch_sub_explicit(b, 3u, memory_order_acq_rel, memory_scope_all_svm_devices);
        atomic_fetch_add(c, 1l << 32);
        atomic_fetch_max_explicit(d, (ulong)i << 33, memory_order_seq_cst, memory_scope_device);
        atomic_fetch_add_explicit(&in_group, 1, memory_order_relaxed, memory_scope_work_group);
    }
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        of_groups[get_group_id(0)] =
            atomic_load_explicit(&in_group, memory_order_acquire, memory_scope_work_group);
}

kernel void sum_of_floats(global atomic_int *bits, global const float *values) {
    int old = atomic_load(bits), sum;
    do
        sum = as_int(as_float(old) + values[get_global_id(0)]);
    while (!atomic_compare_exchange_weak_explicit(bits, &old, sum, memory_order_acq_rel, memory_order_relaxed,
                                                  memory_scope_device));
}

kernel void first(global atomic_flag *flag, global atomic_int *winners, global atomic_int *last,
                  global int *seen) {
    if (!atomic_flag_test_and_set_explicit(flag, memory_order_acq_rel, memory_scope_device))
        atomic_fetch_add(winners, 1);
    seen[get_global_id(0)] = atomic_exchange(last, (int)get_global_id(0));
}

kernel void cleared(global atomic_flag *flag, global atomic_uint *bits) {
    atomic_flag_clear(flag);
    atomic_fetch_or(bits, 1u << get_global_id(0) % 32);
    atomic_work_item_fence(CLK_GLOBAL_MEM_FENCE, memory_order_acq_rel, memory_scope_device);
    atomic_fetch_xor(bits + 1, 1u << get_global_id(0) % 32);
    atomic_fetch_and(bits + 2, ~(1u << get_global_id(0) % 32));
    atomic_fetch_min(bits + 3, (uint)get_global_id(0) + 7);
    atomic_store(bits + 4, 42u);
}
"""
GROUPS, SIZE = 50, 48
ALL = GROUPS * SIZE


@pytest.fixture(scope="session")
def opencl_2(driver: Driver) -> Module:
    return driver.module(compile_opencl(OPENCL_2))


def test_concurrent_counts(opencl_2: Module) -> None:
    a, b = np.zeros(1, np.int32), np.zeros(1, np.uint32)
    c, d = np.zeros(1, np.int64), np.zeros(1, np.uint64)
    of_groups = np.zeros(GROUPS, np.int32)
    opencl_2.run("count", [a, b, c, d, of_groups], GROUPS, SIZE)
    assert (a[0], b[0], c[0]) == (10 * ALL, 2**32 - 30 * ALL, 10 * ALL << 32)
    assert d[0] == (ALL - 1) << 33
    np.testing.assert_array_equal(of_groups, np.full(GROUPS, 10 * SIZE))


def test_compare_exchange_loop(opencl_2: Module) -> None:
    values = np.arange(ALL, dtype=np.float32) % 64  # sums of these are exact
    total = np.zeros(1, np.float32)
    opencl_2.run("sum_of_floats", [total, values], GROUPS, SIZE)
    assert total[0] == values.sum(dtype=np.float64)


CONCURRENT_FLOATS = """
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
SCALAR __attribute__((overloadable)) __spirv_AtomicFAddEXT(volatile global SCALAR *, int, int, SCALAR);
SCALAR __attribute__((overloadable)) __spirv_AtomicFAddEXT(volatile local SCALAR *, int, int, SCALAR);
SCALAR __attribute__((overloadable)) __spirv_AtomicFMinEXT(volatile global SCALAR *, int, int, SCALAR);
SCALAR __attribute__((overloadable)) __spirv_AtomicFMaxEXT(volatile global SCALAR *, int, int, SCALAR);
kernel void combine(global SCALAR *results, global SCALAR *of_groups, global const SCALAR *values) {
    local SCALAR in_group;
    if (get_local_id(0) == 0)
        in_group = 0;
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    const SCALAR value = values[get_global_id(0)];
    __spirv_AtomicFAddEXT(results, 1, 0x10, value);
    __spirv_AtomicFMinEXT(results + 1, 1, 0x10, value);
    __spirv_AtomicFMaxEXT(results + 2, 1, 0x10, value);
    __spirv_AtomicFAddEXT(&in_group, 2, 0x10, value);
    work_group_barrier(CLK_LOCAL_MEM_FENCE);
    if (get_local_id(0) == 0)
        of_groups[get_group_id(0)] = in_group;
}
"""


@pytest.mark.parametrize("scalar", ["float", "double"])
def test_concurrent_floats(driver: Driver, scalar: str) -> None:
    combine = driver.module(compile_opencl(CONCURRENT_FLOATS.replace("SCALAR", scalar)))
    dtype = FLOATS[scalar]
    values = (np.arange(ALL) % 64 - 20).astype(dtype)  # sums of these are exact
    results, of_groups = np.zeros(3, dtype), np.zeros(GROUPS, dtype)
    combine.run("combine", [results, of_groups, values], GROUPS, SIZE)
    np.testing.assert_array_equal(results, [values.sum(), values.min(), values.max()])
    np.testing.assert_array_equal(of_groups, values.reshape(GROUPS, SIZE).sum(axis=1))


def test_flags_and_exchanges(opencl_2: Module) -> None:
    flag, winners, last = np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(1, -1, np.int32)
    seen = np.zeros(ALL, np.int32)
    opencl_2.run("first", [flag, winners, last, seen], GROUPS, SIZE)
    assert flag[0] != 0
    assert winners[0] == 1
    # Each value that was put in is returned once, except the last one, which stays in memory.
    np.testing.assert_array_equal(np.sort(np.append(seen, last)), np.arange(-1, ALL))
    bits = np.array([0, 0, 2**32 - 1, 2**32 - 1, 0], np.uint32)
    opencl_2.run("cleared", [flag, bits], 2, 32)
    assert flag[0] == 0
    np.testing.assert_array_equal(bits, np.array([2**32 - 1, 0, 0, 7, 42], np.uint32))
