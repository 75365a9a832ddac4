# SPDX-License-Identifier: Apache-2.0
"""Rows with AMX: when they are chosen, and what their modules become on a CPU that has tiles.

Elsewhere these rows run with tiles in software (test_kernels.py). Here the other side of the
specialisation constant is built for a CPU with AMX, and its instructions are found in the machine
code. That needs no such CPU: the OpenCL CPU runtime also builds for others.
"""

import ctypes
import mmap
import os
import re
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
import zemm
from support_calls import make_pd, run
from support_cases import ANY, Problem, shape
from support_level_zero import Driver, compilers
from support_process import captured
from support_rows import BY_NAME, constant_id, state
from support_spirv import specialised
from support_tree import ROOT
from zemm._library.package_files import package_file

AMX_ROWS = [name for name, row in BY_NAME.items() if row.has_tiles]
INT8 = next(name for name in AMX_ROWS if BY_NAME[name].src == "int8")
BF16 = next(name for name in AMX_ROWS if BY_NAME[name].src == "bf16")
F16 = next(name for name in AMX_ROWS if BY_NAME[name].src == "f16")

# Instructions of AMX as they are encoded: VEX, map 0F38, W0, a prefix (pp) and an opcode. Those that
# address memory have no register in their last byte.
ENCODINGS = {
    "ldtilecfg": (0, 0x49, False),
    "sttilecfg": (1, 0x49, False),
    "tileloadd": (3, 0x4B, False),
    "tilestored": (2, 0x4B, False),
    "tilezero": (3, 0x49, True),
    "tdpbssd": (3, 0x5E, True),
    "tdpbsud": (2, 0x5E, True),
    "tdpbusd": (1, 0x5E, True),
    "tdpbuud": (0, 0x5E, True),
    "tdpbf16ps": (2, 0x5C, True),
    "tdpfp16ps": (3, 0x5C, True),
}
PRODUCTS = re.compile(rb"\xc4[\xc2\xe2].[\x5c\x5e][\xc0-\xff]", re.DOTALL)
BUILD_KERNELS = ROOT / "src" / "kernels" / "build_kernels.py"


def instructions(code: bytes) -> set[str]:
    """The names of the instructions of AMX in machine code."""
    found = set()
    for match in re.finditer(rb"\xc4[\x42\x62\x82\xa2\xc2\xe2](.)(\x49|\x4b|\x5c|\x5e)(.)", code, re.DOTALL):
        prefix, opcode, last = match[1][0], match[2][0], match[3][0]
        if not prefix & 0x84:  # W0, 128 bits
            found |= {name for name, e in ENCODINGS.items() if e == (prefix & 3, opcode, last >= 0xC0)}
    return found


def build(spirv: Path) -> None:
    """Run in a process whose runtime builds for another CPU: writes the machine code."""
    spirv.with_suffix(".bin").write_bytes(Driver().module(spirv.read_bytes()).native())


def native(problem: Problem, tiles: str, folder: Path) -> bytes:
    """The machine code of the row that ZEMM_KERNEL names, for Granite Rapids."""
    module = make_pd(problem).modules()[0]
    return built(module.spirv, dict(module.constants), tiles, folder)


def built(spirv: bytes, constants: dict[int, int], tiles: str, folder: Path) -> bytes:
    """The machine code of a module for Granite Rapids, which has all of AMX."""
    path = folder / f"{tiles}.spv"
    path.write_bytes(specialised(spirv, {**constants, constant_id("SPEC_TILES"): state(tiles)}))
    environment = {**os.environ, "CL_CONFIG_CPU_TARGET_ARCH": "graniterapids"}
    done = captured([sys.executable, __file__, str(path)], env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return path.with_suffix(".bin").read_bytes()


@pytest.mark.quick(cases=lambda wei: wei in ("s8", "f16"))
@pytest.mark.parametrize(
    ("row", "src", "wei", "product"),
    [
        (INT8, "s8", "s8", "tdpbssd"),
        (INT8, "s8", "u8", "tdpbsud"),
        (INT8, "u8", "s4", "tdpbusd"),
        (INT8, "u8", "u4", "tdpbuud"),
        (BF16, "bf16", "bf16", "tdpbf16ps"),
        (BF16, "f32", "f32", "tdpbf16ps"),
        (F16, "f16", "f16", "tdpfp16ps"),
        (F16, "f16", "u4", "tdpfp16ps"),
    ],
)
def test_instructions(tmp_path: Path, row: str, src: str, wei: str, product: str) -> None:
    fpmath = {"f32": "bf16", "f16": "f16:true"}.get(src, "")
    problem = Problem(f"{ANY} --dt={src}:{wei}:f32 --attr-fpmath={fpmath} 64x256:256x64")
    common = {"sttilecfg", "ldtilecfg", "tileloadd", "tilestored", "tilezero"}
    assert instructions(native(problem, "TILES_IN_HARDWARE", tmp_path)) == common | {product}
    assert instructions(native(problem, "TILES_IN_SOFTWARE", tmp_path)) == set()


@pytest.mark.quick(cases=lambda product: product == "tdpbusd")
@pytest.mark.parametrize(
    ("kernel", "product"),
    [("peak_amx_int8", "tdpbusd"), ("peak_amx_bf16", "tdpbf16ps"), ("peak_amx_fp16", "tdpfp16ps")],
)
def test_limits_are_measured_by_products_alone(tmp_path: Path, kernel: str, product: str) -> None:
    """A loop in which nothing but four products and the count of the trips is executed."""
    out = tmp_path / f"{kernel}.spv"
    command = [
        sys.executable,
        str(BUILD_KERNELS),
        "build",
        str(package_file("kernels.json")),
        kernel,
        str(out),
    ]
    done = captured([*command, *compilers()], timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    code = built(out.read_bytes(), {}, "TILES_IN_HARDWARE", tmp_path)
    common = {"sttilecfg", "ldtilecfg", "tileloadd", "tilestored", "tilezero"}
    assert instructions(code) == common | {product}
    assert b"_ZGV" not in code  # as in test_one_work_item
    products = [match.start() for match in PRODUCTS.finditer(code)]
    assert len(products) == 4
    assert products[-1] - products[0] == 3 * 5  # bytes: they follow each other
    jump = code[products[-1] + 5 :][:8]
    assert re.match(rb"[\x48\x49]\xff[\xc8-\xcf]\x75|[\x48\x49]\x83..\x75", jump, re.DOTALL), jump.hex()
    assert instructions(built(out.read_bytes(), {}, "TILES_IN_SOFTWARE", tmp_path)) == set()


@pytest.mark.quick(cases=lambda order: order == "ba")
@pytest.mark.parametrize("order", ["ab", "ba"])
def test_one_work_item(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, order: str) -> None:
    """The compiler makes no code for several work-items at once, which would mix up their tiles. Such
    functions have names of vector functions.
    """
    monkeypatch.setenv("ZEMM_KERNEL", INT8)
    problem = Problem(f"--dt=s8:s8:f32 --wtag={order} 64x256:256x64")
    assert b"_ZGV" not in native(problem, "TILES_IN_HARDWARE", tmp_path)


@pytest.mark.parametrize("row", AMX_ROWS)
def test_choice(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """With AMX the row is chosen for many rows of src only; without it only ZEMM_KERNEL takes it."""
    src, wei = {INT8: ("u8", "s8"), BF16: ("bf16", "bf16"), F16: ("f16", "f16")}[row]
    feature = BY_NAME[row].policy
    monkeypatch.delenv("ZEMM_KERNEL", raising=False)
    for m in (1, 15, 16, 500):
        chosen = make_pd(Problem(f"{ANY} --dt={src}:{wei}:f32 {shape(m, 64, 256)}")).impl_info
        assert (chosen == row) == (m >= 16 and feature in engine.features)


@pytest.mark.quick(cases=lambda line, copied: Problem(line).k in (2048, 1001))
@pytest.mark.parametrize(
    ("line", "copied"),
    [
        # Rows of src that fall into the same sets of the L1 cache, and that begin inside of cache lines.
        ("--dt=s8:u8:f32 2x33x2048:2x2048x65", True),
        ("--dt=u8:s4:bf16 70x1022:1022x65 src_pad=3", True),
        ("--dt=bf16:bf16:f32 70x1024:1024x65", True),
        ("--dt=bf16:u4:f32 70x1056:1056x65", False),  # 33 lines
        ("--dt=s8:s8:f32 70x1088:1088x65", False),
        # f32 becomes bf16 once.
        ("--attr-fpmath=bf16 70x1001:1001x65", True),
        ("--dt=f32:u4:bf16 --attr-fpmath=any:true 70x1056:1056x65", True),
    ],
)
def test_copy_of_src(monkeypatch: pytest.MonkeyPatch, line: str, copied: bool) -> None:
    """src is copied where that pays: from 1024 columns for each core on, if its type stays."""
    problem = Problem(line)
    monkeypatch.setenv("ZEMM_KERNEL", INT8 if problem.is_integer else BF16)
    converts = problem.dt[0] == "f32"
    columns = 1024 * len(os.sched_getaffinity(0))
    for n in (columns - 1, columns):
        p = problem.shaped(problem.case.problem.m, n, problem.k)
        names = [module.kernel for module in make_pd(p).modules()]
        assert ("widen_src" in names) == (converts or (copied and n == columns))
    if columns <= 8192:
        run(p)


if __name__ == "__main__":
    build(Path(sys.argv[1]))


# Functions (void *configuration): sttilecfg [rdi]; ret, and ldtilecfg [rdi]; ret.
STORE, LOAD = bytes.fromhex("c4e2794907c3"), bytes.fromhex("c4e2784907c3")
# ggml's: palette 1; from byte 16 on the row lengths, from byte 48 on the rows.
CONFIGURATION = struct.pack("<16B8H16x8B8x", 1, *[0] * 15, 64, 64, *[32] * 2, *[64] * 4, 8, 8, *[16] * 6)


@pytest.mark.skipif("amx_tile" not in Path("/proc/cpuinfo").read_text(), reason="the CPU has no AMX")
@pytest.mark.parametrize("rows", [16, 64, 512])
def test_a_thread_keeps_its_tiles(rows: int) -> None:
    """The calling thread computes, too. Programs such as ggml configure its tiles once."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(STORE + LOAD)
    begin = ctypes.addressof(ctypes.c_char.from_buffer(code))
    store, load = (ctypes.CFUNCTYPE(None, ctypes.c_void_p)(begin + at) for at in (0, len(STORE)))
    w = np.random.default_rng(1).standard_normal((1024, 256)).astype(np.float32)
    layer = zemm.Linear.from_float(w, group=None, symmetric=True, activation="int8", activation_group=1024)
    for before in (CONFIGURATION, bytes(64)):
        load(ctypes.create_string_buffer(before, 64))
        layer(np.ones((rows, 1024), np.float32))
        after = ctypes.create_string_buffer(64)
        store(after)
        load(ctypes.create_string_buffer(64))  # none
        assert after.raw == before
