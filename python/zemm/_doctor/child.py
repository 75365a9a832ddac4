# SPDX-License-Identifier: Apache-2.0
"""The child process of zemm-doctor, which tries the loader or a device and prints one JSON object.

It is a process of its own because a driver may crash or hang: python -m zemm.doctor --probe
loader|cpu|gpu|cold-cpu|cold-gpu INDEX
"""

import json
import os
import re
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import zemm
from zemm._doctor import levelzero
from zemm._library.lists import own_and_emulated
from zemm.words import DType, EngineKind

Facts = dict[str, Any]


def loaded_library(stem: str) -> str | None:
    """The path of a library that this process has open and whose file name begins with stem, or
    None. None, too, without /proc."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    for line in lines:
        path = line.split(maxsplit=5)[-1]
        if path.startswith("/") and Path(path).name.startswith(stem):
            return path
    return None


def probe_loader() -> Facts:
    facts: Facts = {}
    try:
        facts["devices"] = [vars(device) for device in levelzero.devices()]
    except levelzero.NoDriverError as error:
        facts["absent"] = str(error)
    except levelzero.LevelZeroError as error:
        facts["error"] = str(error)
    facts["path"] = loaded_library("libze_loader.so")
    return facts


def probe_device(kind: EngineKind, index: int) -> Facts:
    """Make the engine and run a small matmul on it. "error" says what failed."""
    facts: Facts = {"count": zemm.Engine.count(kind)}
    try:
        engine = zemm.Engine(kind, index)
        facts["name"] = engine.name
        facts |= describe(engine)
        facts |= check_matmul(engine)
    except zemm.ZemmError as error:
        facts["error"] = str(error)
    facts["driver"] = loaded_library("libze_cpu.so" if kind == "cpu" else "libze_intel_gpu")
    facts["runtime"] = loaded_library("libintelocl.so")
    return facts


def probe_cold_start(kind: EngineKind, index: int) -> Facts:
    """Seconds for opening the device and for building a kernel, in a process that keeps no kernels on disk
    (ZEMM_CACHE=0)."""
    begin = time.perf_counter()
    pd = small_matmul(zemm.Engine(kind, index))
    opened = time.perf_counter()
    zemm.Primitive(pd)
    built = time.perf_counter()
    return {"open": opened - begin, "build": built - opened}


def describe(engine: zemm.Engine) -> Facts:
    """The features of the device and, for a GPU, its properties, in words."""
    native, software = own_and_emulated(engine.kind, engine.features)
    facts: Facts = {"features": ", ".join(native) or "none beyond the baseline"}
    if software:
        facts["software"] = f"{', '.join(software)} (for kernels that ZEMM_KERNEL forces)"
    if engine.kind == "cpu" and (why_no_amx := amx_sentence(processor_flags(), engine.features)):
        facts["amx"] = why_no_amx
    if engine.kind == "cpu":
        facts["threads"] = threads_sentence(small_matmul(engine).tuning())
    if engine.model:
        facts["model"] = model_sentence(engine.model)
    return facts


def processor_flags() -> set[str]:
    """The processor's features, as Linux names them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return set()
    return set(next((line for line in lines if line.startswith("flags")), "").split())


def amx_sentence(flags: set[str], features: Collection[str]) -> str:
    """Why the device does not report the AMX that the processor has; "" if there is nothing to say."""
    if "amx_tile" not in flags or any(name.startswith("amx_") for name in features):
        return ""
    if mask := os.environ.get("ZEMM_DEVICE_MASK"):
        return f"the processor has AMX; ZEMM_DEVICE_MASK={mask} may hide it"
    return (
        "the processor has AMX, but the operating system does not let this process use tiles "
        "(arch_prctl ARCH_REQ_XCOMP_PERM)"
    )


def threads_sentence(tuning: str) -> str:
    """How many threads compute, and what decides it. tuning: a text of zemm_primitive_desc_get_tuning(),
    which names the device."""
    threads = re.findall(r"(?m)^device cpu, (\d+) units", tuning)[0]
    try:
        allowed = len(os.sched_getaffinity(0))
    except OSError as error:
        return f"{threads} (the CPUs that this process may use are not known: {error.strerror})"
    text = f"{threads}, one for each of the {allowed} CPUs that this process may use"
    if int(threads) != allowed:
        text = f"{threads}, as the OpenCL runtime decides; this process may use {allowed} CPUs"
    return f"{text} (of {os.cpu_count()}; taskset chooses them)"


def model_sentence(model: Mapping[str, str | int]) -> str:
    """Engine.model in words."""
    ip = f" (IP {model['ip']})" if "ip" in model else ""
    parts = [f"{model['name']}{ip}"]
    parts.append(f"{model['xe_cores']} Xe cores of {model['xves_per_core']} XVEs")
    if "xmx_int8_ops" in model:
        parts.append(f"XMX of {model['xmx_int8_ops']} int8 operations a clock")
    parts.append(f"sub-groups of {model['sub_group']}")
    if "grf_bytes" in model:
        parts.append(f"registers of {model['grf_bytes']} bytes")
        threads = f"{model['threads_128']} threads of 128"
        parts.append(threads + (f" or {model['threads_256']} of 256" if "threads_256" in model else ""))
    for key, name in (("slm_per_core", "SLM"), ("l1_per_core", "L1"), ("l2_bytes", "L2")):
        if key in model:
            parts.append(f"{int(model[key]) >> 10} KB {name}")
    return ", ".join(parts)


def small_problem() -> tuple[dict[str, Any], np.ndarray]:
    """Arguments of zemm.matmul() for s8 by u8 with zero points and precomputed reductions, and the
    result."""
    rng = np.random.default_rng(7)
    m, k, n, group = 5, 64, 19, 32
    src = rng.integers(-128, 128, (m, k)).astype(np.int8)
    weights = rng.integers(0, 256, (k, n)).astype(np.uint8)
    zero_points = rng.integers(0, 256, n).astype(np.uint8)
    # Scales are powers of two, so that every partial result is exact and values can be compared for
    # equality.
    src_scales = np.exp2(rng.integers(-3, 3, (m, k // group))).astype(np.float32)
    weights_scales = np.exp2(rng.integers(-3, 3, n)).astype(np.float32)
    reductions = src.reshape(m, k // group, group).sum(axis=-1, dtype=np.int32)
    real_src = src * np.repeat(src_scales.astype(np.float64), group, axis=1)
    expected = real_src @ ((weights.astype(np.float64) - zero_points) * weights_scales)
    arguments = {
        "src": src,
        "weights": weights,
        "src_scales": src_scales,
        "weights_scales": weights_scales,
        "weights_zero_points": zero_points,
        "reductions": reductions,
    }
    return arguments, expected


def check_matmul(engine: zemm.Engine) -> Facts:
    arguments, expected = small_problem()
    got = zemm.matmul(**arguments, engine=engine)
    wrong = int((got != expected).sum())
    facts: Facts = {"kernel": small_matmul(engine).impl_info, "wrong": wrong, "values": expected.size}
    if wrong:
        at = tuple(int(i) for i in np.argwhere(got != expected)[0])
        facts["error"] = (
            f"{wrong} of {expected.size} values are wrong, first {list(at)}: {got[at]}, not {expected[at]}"
        )
    return facts


def small_matmul(engine: zemm.Engine) -> zemm.MatmulPrimitiveDesc:
    """A plain s8:u8 matmul."""
    tensors: list[tuple[tuple[int, int], DType]] = [((5, 64), "s8"), ((64, 19), "u8"), ((5, 19), "f32")]
    src, weights, dst = (zemm.MemoryDesc(dims, data_type, "ab") for dims, data_type in tensors)
    return zemm.MatmulPrimitiveDesc(engine, src, weights, dst)


def main(what: str, index: int) -> int:
    probes: dict[str, Callable[[], Facts]] = {
        "loader": probe_loader,
        "cpu": lambda: probe_device("cpu", index),
        "gpu": lambda: probe_device("gpu", index),
        "cold-cpu": lambda: probe_cold_start("cpu", index),
        "cold-gpu": lambda: probe_cold_start("gpu", index),
    }
    print(json.dumps(probes[what]()))
    return 0
