# SPDX-License-Identifier: Apache-2.0
"""types.def and algs.def agree with Python, the public header, the refusals and the kernels."""

import json
import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest
import zemm
from support_level_zero import compilers
from support_tree import ROOT
from zemm import dtypes, words
from zemm._library import library, lists
from zemm._library.package_files import package_file
from zemm._objects import post_op_names
from zemm.benchdnn.data import eltwise
from zemm.benchdnn.grammar import dtypes as benchdnn_types

KERNELS = package_file("kernels.json")
ROLES = ("src", "weights", "dst", "bias")
# The words of the refusals, as users see them. A new type appears in them, and has to be added to
# this table.
TAKEN = {
    "src": "f32 f16 bf16 f8_e5m2 f8_e4m3 f4_e2m1 s8 u8 f64",
    "weights": "f32 f16 bf16 f8_e5m2 f8_e4m3 f4_e2m1 s8 u8 s4 u4 u2 f64",
    "dst": "f32 f16 bf16 f8_e5m2 f8_e4m3 f4_e2m1 s32 s8 u8 f64",
    "bias": "f32 f16 bf16 f8_e5m2 f8_e4m3 s32 s8 u8 f64",
}
CONVERTED = "f32 f16 bf16 f8_e5m2 f8_e4m3 f4_e2m1 e8m0 s32 s8 u8 s4 u4 u2 f64"


def test_all_types_of_the_header_are_listed() -> None:
    numbers = {name: library.value_of("data_type", name) for name in library.names_of("data_type")}
    for name in ("undef", "max", "boolean", "f4_e3m0"):
        del numbers[name]
    assert {name: row.number for name, row in lists.TYPES.items()} == numbers


def test_all_algorithms_of_the_header_are_listed() -> None:
    numbers = {
        name: library.value_of("alg_kind", name)
        for name in library.names_of("alg_kind")
        if name.startswith(("eltwise_", "binary_"))
    }
    assert {f"{row.kind}_{row.name}": row.number for row in lists.ALGORITHMS} == numbers


def test_an_instruction_set_brings_others() -> None:
    assert lists.isas_with("avx2") == {"avx2"}
    assert lists.isas_with("avx512_vnni") == {"avx2", "avx_vnni", "avx512", "avx512_vnni"}
    assert lists.isas_with("tf32") == {"xmx", "tf32"}


def test_python_knows_all_types() -> None:
    assert set(dtypes._NUMPY) == set(lists.TYPES)
    assert set(benchdnn_types.BY_NAME) == set(lists.TYPES)
    for name, row in lists.TYPES.items():
        known = benchdnn_types.BY_NAME[name]
        assert known.integral == (row.kind == "integer")
        assert known.bits == row.bits


def test_digits_and_limits_are_those_of_numpy() -> None:
    for name, row in lists.TYPES.items():
        dtype = dtypes.numpy_dtype(name)
        if row.kind == "integer":
            info: Any = ml_dtypes.iinfo(dtype)
            assert (row.low, row.high) == (info.min, info.max), name
            assert row.digits == int(info.max).bit_length(), name
            continue
        info = ml_dtypes.finfo(dtype)
        assert row.digits == info.nmant + 1, name
        assert (row.smallest, row.high) == (float(info.smallest_normal), float(info.max)), name
        assert row.low == float(info.min), name


def test_the_driver_has_limits_that_f32_holds() -> None:
    for name, known in benchdnn_types.BY_NAME.items():
        row = lists.TYPES[name]
        for limit, exact in ((known.low, row.low), (known.high, row.high)):
            assert limit == np.float32(limit), name
            assert exact - limit >= 0 if limit > 0 else exact - limit <= 0, name
    assert benchdnn_types.BY_NAME["s32"].high == 2147483520


def test_scalings_of_floats() -> None:
    assert set(get_args(words.FloatScaling)) == set(lists.FLOAT_SCALINGS)
    for rule in lists.FLOAT_SCALINGS.values():
        assert rule.mode in library.names_of("quantization_mode")
        assert "scale" in lists.TYPES[rule.type].roles


def test_python_knows_all_algorithms() -> None:
    names = {name.removesuffix("_use_dst_for_bwd") for name in lists.algorithms_of("eltwise")}
    assert set(eltwise.ELTWISE) == names
    assert {*eltwise.BINARY, "select"} == set(lists.algorithms_of("binary"))
    assert set(post_op_names._PARAMETERS) < names


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("name", lists.TYPES)
def test_matmul_takes_the_types_of_its_columns(engine: zemm.Engine, role: str, name: str) -> None:
    """All other operands are f16, because oneDNN defines f16 with any type but f64, which has f64."""
    types = {**dict.fromkeys(ROLES, "f64" if name == "f64" else "f16"), role: name}
    shapes = {"src": (4, 8), "weights": (8, 4), "dst": (4, 4), "bias": (1, 4)}
    src, weights, dst, bias = (zemm.MemoryDesc(shapes[r], types[r]) for r in ROLES)
    attr = zemm.Attr()
    attr.set_fpmath_mode("f16", apply_to_int=True)
    row = lists.TYPES[name]
    if role in row.roles and not (role == "src" and row.kind == "integer"):  # weights are f16
        assert zemm.MatmulPrimitiveDesc(engine, src, weights, dst, bias, attr).impl_info
        return
    with pytest.raises(zemm.UnimplementedError) as refusal:
        zemm.MatmulPrimitiveDesc(engine, src, weights, dst, bias, attr)
    if role not in row.roles:
        assert f"{role}: data type {name} is not implemented, {TAKEN[role]} are" in str(refusal.value)


@pytest.mark.parametrize("name", lists.TYPES)
def test_reorder_converts_the_types_of_kernels(engine: zemm.Engine, name: str) -> None:
    src, dst = zemm.MemoryDesc((2, 4), name), zemm.MemoryDesc((2, 4), "f32")
    if lists.TYPES[name].is_converted:
        assert zemm.ReorderPrimitiveDesc(engine, src, dst).impl_info
        return
    sentence = f"src: conversion of data type {name} is not implemented .that of {CONVERTED} is; others only"
    with pytest.raises(zemm.UnimplementedError, match=sentence):
        zemm.ReorderPrimitiveDesc(engine, src, dst)


@pytest.mark.parametrize("name", lists.TYPES)
def test_scales_of_the_types_that_kernels_read(engine: zemm.Engine, name: str) -> None:
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((4, 8), (8, 2), (4, 2))]
    attr = zemm.Attr()
    if name not in ("f32", "bf16", "f16", "e8m0", "f8_e4m3"):  # the types that oneDNN allows
        sentence = f"data_type {name} is not one of f32, bf16, f16, e8m0, f8_e4m3"
        with pytest.raises(zemm.InvalidArgumentsError, match=sentence):
            attr.set_scales(zemm.ARG_WEIGHTS, 2, data_type=name)
        return
    attr.set_scales(zemm.ARG_WEIGHTS, 2, data_type=name)
    if "scale" in lists.TYPES[name].roles:
        assert zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr).impl_info
        return
    sentence = f"weights scales: data type {name} is not implemented, f32 f16 bf16 are"
    with pytest.raises(zemm.UnimplementedError, match=sentence):
        zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr)


@pytest.mark.parametrize("name", lists.TYPES)
def test_zero_points_of_the_types_that_kernels_read(name: str) -> None:
    attr = zemm.Attr()
    if "zero_point" in lists.TYPES[name].roles:
        attr.set_zero_points(zemm.ARG_WEIGHTS, 2, data_type=name)
        return
    with pytest.raises(
        zemm.InvalidArgumentsError,
        match=f"data_type {name} is not one of f32, f16, bf16, s32, s8, u8, s4, u4",
    ):
        attr.set_zero_points(zemm.ARG_WEIGHTS, 2, data_type=name)


def test_kernels_have_no_default() -> None:
    """Without a default, a kernel's switch cannot treat an unknown type as another one."""
    sources = [path for path in (ROOT / "src/kernels").rglob("*") if path.suffix in (".h", ".cl")]
    assert len(sources) > 30
    assert [path.name for path in sources if re.search(r"\bdefault\s*:", path.read_text())] == []


# Rows that types.def might get, and policies that tell such types apart.
NEW_TYPES = {
    "SMALL_FLOATS": (
        "ZEMM_FLOAT_TYPE(f8_new, F8_NEW, 20, 8, 5, 0.25, 15.5, no, yes, no, no, no, no, no)",
        ("avx512", "amx_fp16", "xe_half"),
    ),
    "FLOATS": (
        "ZEMM_FLOAT_TYPE(f16_new, F16_NEW, 20, 16, 9, 1, 2, yes, yes, no, no, no, no, no)",
        ("xe_half", "xe_fma"),
    ),
    "INTEGERS_OF_SRC": (
        "ZEMM_INT_TYPE(s16, S16, 20, 16, yes, -32768, 32767, yes, no, no, no, no, no, no)",
        ("generic", "avx512_vnni", "xe_int8"),
    ),
    "INTEGERS_OF_WEIGHTS": (
        "ZEMM_INT_TYPE(s2, S2, 20, 2, yes, -2, 1, no, yes, no, no, no, no, no)",
        ("avx512_vnni", "xe_int8"),
    ),
    "SIZES": (
        "ZEMM_INT_TYPE(u1, U1, 20, 1, no, 0, 1, no, no, no, no, no, no, no)",
        ("generic", "xe_fma"),
    ),
    "INTEGER_ZERO_POINTS": (
        "ZEMM_INT_TYPE(s2, S2, 20, 2, yes, -2, 1, no, no, no, no, no, yes, no)",
        ("avx512_vnni", "avx2"),
    ),
}

SENTENCES = {"SIZES": "code that depends on the bits of u1 is missing"}


@pytest.mark.parametrize("types", NEW_TYPES)
def test_a_type_that_kernels_do_not_know_does_not_compile(types: str, tmp_path: Path) -> None:
    """Such a type would be taken for the last one that the code names."""
    pair = compilers()
    if not pair:
        pytest.skip("no clang-N with an llvm-spirv-N")
    new_row, policies = NEW_TYPES[types]
    definitions = runpy.run_path(str(ROOT / "src/kernels/build_kernels.py"))["definitions"]
    for folder in ("kernels", "lists"):
        shutil.copytree(ROOT / "src" / folder, tmp_path / folder)
    sources = tmp_path / "kernels"
    rows = {row["policy"]: row for row in json.loads(KERNELS.read_text()) if row["kind"] == "matmul"}
    command = [pair[0], "--target=spirv64", "-cl-std=CL3.0", "-fsyntax-only", "-ferror-limit=0"]
    command += ["-Xclang", "-finclude-default-header", f"-I{sources}", f"-I{tmp_path}"]
    command += [str(sources / "matmul" / "matmul.cl")]

    def errors(policy: str) -> str:
        options = definitions(rows[policy])
        return subprocess.run([*command, *options], check=False, capture_output=True, text=True).stderr

    assert "error" not in errors(policies[0])
    listed = tmp_path / "lists" / "types.def"
    text = listed.read_text()
    listed.write_text(text.replace("ZEMM_WIDE_TYPE(    f64", f"{new_row}\nZEMM_WIDE_TYPE(    f64"))
    assert listed.read_text() != text
    sentence = SENTENCES.get(types, f"types.def has a type of {types} that this code does not know")
    assert [policy for policy in policies if sentence not in errors(policy)] == []
