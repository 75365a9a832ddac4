# SPDX-License-Identifier: Apache-2.0
"""Device features and ZEMM_DEVICE_MASK, compared with what the operating system reports about the
processor.
"""

import ctypes
import os
import sys
from pathlib import Path

import pytest
from support_process import captured

SCRIPT = "import zemm; print(*zemm.Engine('cpu').features, sep=',')"
AMX = {"amx_int8", "amx_bf16", "amx_fp16"}
SOFTWARE = {"dp4a", "xmx", "block_2d", "tf32"}  # features of Xe GPUs that libze_cpu.so has in software
WIDE = {"avx512", "avx512_vnni", "avx512_bf16", *AMX}  # all that needs avx512
NAMES = ("avx2", "avx_vnni", *sorted(WIDE), *SOFTWARE)


def cpu_flags() -> set[str]:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def is_granite_rapids() -> bool:
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    values = dict(line.replace("\t", "").split(":", 1) for line in lines if ":" in line)
    return int(values.get("cpu family", 0)) == 6 and int(values.get("model", 0)) in (0xAD, 0xAE)


def may_use_tiles() -> bool:
    """Whether Linux lets this process use the tiles of AMX: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA."""
    arch_prctl = 158
    return ctypes.CDLL(None).syscall(arch_prctl, 0x1023, 18) == 0


def expected() -> set[str]:
    flags = cpu_flags()
    found = set(SOFTWARE)
    if {"avx2", "fma"} <= flags:
        found.add("avx2")
        if "avx_vnni" in flags:
            found.add("avx_vnni")
        if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags:
            found.add("avx512")
            if "avx512_vnni" in flags:
                found |= {"avx512_vnni", "avx_vnni"}
            if {"avx512_bf16", "avx512_vbmi2"} <= flags:
                found.add("avx512_bf16")
            if "avx512_fp16" in flags and may_use_tiles():
                found |= AMX & flags
            if not is_granite_rapids():  # the OpenCL runtime builds tiles of f16 for no other CPU
                found.discard("amx_fp16")
    return found


def run(mask: str | None, verbose: str = "") -> tuple[set[str], str]:
    """The features in a new process, and its log."""
    environment = {**os.environ, "ZEMM_VERBOSE": verbose}
    environment.pop("ZEMM_DEVICE_MASK", None)
    if mask is not None:
        environment["ZEMM_DEVICE_MASK"] = mask
    done = captured([sys.executable, "-c", SCRIPT], env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    *log, features = done.stdout.splitlines()
    return set(features.split(",")) - {""}, "\n".join(log)


def test_features_are_the_processors() -> None:
    assert run(None)[0] == run("")[0] == expected()


@pytest.mark.quick(
    cases=lambda mask: mask in ("avx512_vnni", "avx2", ",avx512,,", "amx_int8", "xmx", "block_2d")
)
@pytest.mark.parametrize(
    ("mask", "hidden"),
    [
        ("avx512_vnni", {"avx512_vnni"}),
        ("avx512_bf16", {"avx512_bf16"}),
        ("avx512", WIDE),
        ("avx_vnni", {"avx_vnni"}),
        ("avx512,avx_vnni", {"avx_vnni", *WIDE}),
        ("avx2", {"avx2", "avx_vnni", *WIDE}),
        (",avx512,,", WIDE),
        ("amx_int8", {"amx_int8"}),
        ("amx_bf16", {"amx_bf16"}),
        ("amx_fp16", {"amx_fp16"}),
        ("xmx", {"xmx", "tf32"}),
        ("tf32", {"tf32"}),
        ("dp4a", {"dp4a"}),
        ("block_2d", {"block_2d"}),
    ],
)
def test_mask(mask: str, hidden: set[str]) -> None:
    features, log = run(mask, "all")
    assert features == expected() - hidden
    assert "ZEMM_DEVICE_MASK" not in log


def test_unknown_name_is_a_warning() -> None:
    features, log = run("avx1024,avx512_vnni", "warn")
    assert features == expected() - {"avx512_vnni"}
    (line,) = [line for line in log.splitlines() if "ZEMM_DEVICE_MASK" in line]
    assert '"avx1024"' in line
    assert all(name in line for name in NAMES)


def test_mask_changes_no_result() -> None:
    """The doctor's matmul is right without any feature, and the doctor reports the mask."""
    environment = {**os.environ, "ZEMM_DEVICE_MASK": "avx2"}
    done = captured([sys.executable, "-m", "zemm.doctor"], env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "none beyond the baseline" in done.stdout
    assert "ZEMM_DEVICE_MASK=avx2" in done.stdout
