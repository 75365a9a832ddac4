# SPDX-License-Identifier: Apache-2.0
"""Intel's sub-group builtins: lists of them, kernels that call one each, and numpy versions by the
specification.

They are those of cl_intel_subgroup_matrix_multiply_accumulate and its tf32 extension. Intel's
compilers also have mixes of 8, 4 and 2 bits.
"""

import itertools
from typing import NamedTuple

import numpy as np

BITS = {
    "i8": 8,
    "u8": 8,
    "i4": 4,
    "u4": 4,
    "i2": 2,
    "u2": 2,
    "f16": 16,
    "bf16": 16,
    "tf32": 32,
    "f32": 32,
    "s32": 32,
}
TYPES = {8: "char", 16: "short", 32: "int"}


class Dpas(NamedTuple):
    a: str
    b: str
    acc: str
    lanes: int
    m: int
    k: int
    flat: bool = False  # called by the compiler's own name: a is ints, and eight lanes have a row

    def __str__(self) -> str:
        return f"{self.a}_{self.b}_{self.acc}_k{self.k}_simd{self.lanes}_m{self.m}{'_flat' * self.flat}"

    @property
    def has_a_ints(self) -> bool:
        return self.a == "tf32" or self.flat

    @property
    def a_components(self) -> int:
        return max(1, self.m // 2) if self.has_a_ints else self.m

    @property
    def a_bits(self) -> int:
        """Bits of a component: what a lane has of a row."""
        return 32 if self.has_a_ints else self.k * BITS[self.a] // self.lanes

    @property
    def b_components(self) -> int:
        return self.k * BITS[self.b] // 32

    @property
    def acc_bits(self) -> int:
        return BITS[self.acc]


def _all_dpas() -> list[Dpas]:
    mixes = [(a, b, "s32") for a in ("i8", "u8", "i4", "u4") for b in ("i8", "u8", "i4", "u4")]
    mixes += [("i8", "u2", "s32"), ("u2", "i8", "s32"), ("i4", "i2", "s32"), ("u2", "u2", "s32")]
    mixes += [("f16", "f16", "f32"), ("bf16", "bf16", "f32")]
    mixes += [("f16", "f16", "f16"), ("bf16", "bf16", "bf16"), ("tf32", "tf32", "f32")]
    result = []
    for (a, b, acc), lanes, m in itertools.product(mixes, (8, 16), (1, 2, 4, 8)):
        k = 256 // max(BITS[a], BITS[b], 4)
        if lanes == 8 and (acc in ("f16", "bf16") or a == "tf32"):
            continue
        if a == "tf32" or k // lanes * BITS[a] >= 8:
            result.append(Dpas(a, b, acc, lanes, m, k))
    bytes_of_a = [d for d in result if d.a in ("i8", "u8") and d.b[1:] in "84"]
    floats = [d for d in result if d.a in ("f16", "bf16", "tf32") and d.acc == "f32"]
    return result + [d._replace(flat=True) for d in bytes_of_a + floats if d.lanes == 16 and d.m > 1]


# Spelling of the types in the compiler's own names.
_FLAT = {"i8": "s8", "i4": "s4", "f16": "hf", "bf16": "bf"}


DPAS = _all_dpas()


def dpas_kernel(d: Dpas) -> str:
    def vector(scalar: str, count: int) -> str:
        return scalar + (str(count) if count > 1 else "")

    is_float = d.acc != "s32"
    a_scalar = (
        "uint" if d.flat else "float" if d.a == "tf32" else ("u" if d.a[0] == "u" else "") + TYPES[d.a_bits]
    )
    b_scalar = "float" if d.b == "tf32" and not d.flat else "uint" if d.b[0] == "u" else "int"
    acc_scalar = {"f32": "float", "s32": "int", "f16": "half", "bf16": "short"}[d.acc]
    a, b, acc = vector(a_scalar, d.a_components), vector(b_scalar, d.b_components), vector(acc_scalar, d.m)
    name, overloadable = f"intel_sub_group_{d.a}_{d.b}_matrix_mad_k{d.k}", "__attribute__((overloadable))"
    parameters, arguments = f"{a} a, {b} b, {acc} acc", "a[i], b[i], acc[i]"
    if d.flat:
        of_a, of_b = _FLAT.get(d.a, d.a), _FLAT.get(d.b, d.b)
        family = "fdpas_f_f" if is_float else "idpas"
        name, overloadable = f"__builtin_IB_sub_group16_{family}_{of_a}_{of_b}_8_{d.m}", ""
        parameters, arguments = f"{acc} acc, {a} a, {b} b", "acc[i], a[i], b[i]"
    return f"""
{"#pragma OPENCL EXTENSION cl_khr_fp16 : enable" if is_float else ""}
{acc} {overloadable} {name}({parameters});
__attribute__((intel_reqd_sub_group_size({d.lanes}))) kernel void {d}(
    global {a} *a, global {b} *b, global {acc} *acc) {{
    const size_t i = get_global_id(0);
    acc[i] = {name}({arguments});
}}"""


def to_float(words: np.ndarray, kind: str) -> np.ndarray:
    """f32 values of the bits of f16, bf16, tf32 or f32."""
    if kind == "f16":
        return words.astype(np.uint16).view(np.float16).astype(np.float32)
    if kind == "bf16":
        return (words.astype(np.uint32) << 16).view(np.float32)
    if kind == "tf32":
        return (words.astype(np.uint32) & np.uint32(0xFFFFE000)).view(np.float32)
    return words.astype(np.uint32).view(np.float32)


def to_bits(values: np.ndarray, kind: str) -> np.ndarray:
    """Bits of f32 values: rounded to f16 or bf16 (to the nearest, ties to even), or unchanged for
    f32.
    """
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    bits = values.view(np.uint32)
    if kind == "bf16":
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)
    return bits


def elements(words: np.ndarray, word_bits: int, kind: str) -> np.ndarray:
    """Unpack elements along the last axis, the lowest bits first, as int64 or f32."""
    bits = BITS[kind]
    count = word_bits // bits
    packed = words.astype(np.uint64)[..., None] >> (np.arange(count, dtype=np.uint64) * np.uint64(bits))
    values = (packed & np.uint64((1 << bits) - 1)).reshape(*words.shape[:-1], -1)
    if kind[0] in "iu":
        signed = values.astype(np.int64)
        return signed - ((signed >> (bits - 1)) << bits) if kind[0] == "i" else signed
    return to_float(values, kind)


def random_words(rng: np.random.Generator, kind: str, shape: tuple[int, ...], bits: int) -> np.ndarray:
    """Random bits for integers. For floats values of moderate size, some zero, with bits that tf32
    drops.
    """
    dtype = np.dtype(f"u{bits // 8}")
    if kind[0] in "ius":
        return rng.integers(0, 1 << bits, shape, dtype=dtype)
    count = bits // BITS[kind]
    values = rng.normal(size=(*shape, count)) * 2.0 ** rng.integers(-3, 4, (*shape, count))
    values[rng.random(values.shape) < 0.05] = 0
    parts = to_bits(values.astype(np.float32), "f32" if kind == "tf32" else kind).astype(np.uint64)
    shifts = np.arange(count, dtype=np.uint64) * np.uint64(BITS[kind])
    return np.bitwise_or.reduce(parts << shifts, axis=-1).astype(dtype)


def random_a(rng: np.random.Generator, d: Dpas, sub_groups: int) -> np.ndarray:
    """Random a of each sub-group, lane and component."""
    return random_words(rng, d.a, (sub_groups, d.lanes, d.a_components), d.a_bits)


def multiply(d: Dpas, a: np.ndarray, b: np.ndarray, acc: np.ndarray) -> np.ndarray:
    """The result of the sub-group, as bits by lane and row. a and b are bits by lane and component."""
    if d.has_a_ints:  # eight lanes have a row, so a component covers two rows
        rows = elements(a.T.reshape(-1, 8, 1), 32, d.a).reshape(-1, d.k)[: d.m]
    else:
        rows = elements(np.ascontiguousarray(a.T)[..., None], d.a_bits, d.a).reshape(d.m, d.k)
    columns = elements(b, 32, d.b).T
    if d.acc == "s32":
        return (acc.T.astype(np.int64) + rows @ columns).astype(np.uint64).astype(np.uint32).T
    total = to_float(acc.T, d.acc)
    for k in range(d.k):
        exact = rows[:, k, None].astype(np.float64) * columns[None, k].astype(np.float64)
        total = (total.astype(np.float64) + exact).astype(np.float32)
    return to_bits(np.ascontiguousarray(total), d.acc).T
