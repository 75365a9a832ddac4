# SPDX-License-Identifier: Apache-2.0
"""The CPUs whose machine code can be judged: what the OpenCL CPU runtime builds for them, and by which
of llvm-mca's models their cycles are counted.

The models of newer Intel server cores have wrong rates for 512-bit multiplies (LLVM 19): one FMA a
cycle for icelake-server, one multiply of any kind a cycle for sapphirerapids, where the cores have
two ports for them (0 and 5). The model of Skylake's server cores has both ports, and as many 512-bit
loads a cycle, so it stands for all of them.

The model of znver4 has half the rate for vpdpbusd, unless it loads an operand, and a third for
vdpbf16ps, of which a loop is twice as fast as one of f32. It lets loads that broadcast an element
wait for the multiplying pipes. zemm's int8 row with groups reached 88 % of the multiplies of a
register-only loop on a Zen 4, where that model allows 74 %. So a multiply-add of f32 stands for both
(it has the pipes and the latency), and a plain load for one that broadcasts.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from zemm._library.lists import isas_with
from zemm.isa.cpu.caches import Level1

_USUAL = Level1(32 << 10, 8)


@dataclass(frozen=True)
class Cpu:
    target: str  # for CL_CONFIG_CPU_TARGET_ARCH; '' is the machine's own
    model: str  # for llvm-mca -mcpu
    features: frozenset[str]  # of those that rows of kernels.def want
    level1: Level1 = _USUAL
    # Opcodes that llvm-mca gets instead: of any instruction, and of instructions that load.
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    load_stand_ins: Mapping[str, str] = field(default_factory=dict)


# AVX-VNNI is the same instruction in a shorter encoding; the runtime encodes it as the CPU wants.
_VNNI = isas_with("avx512_vnni")
_SUNNY_COVE = Level1(48 << 10, 12)  # and later cores of Intel's servers
_AMX = isas_with("avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")

# The runtime has no targets of other names (of those that can run the rows of kernels.def). Zen 4
# has the instructions of icelake-server.
CPUS = {
    "core-avx2": Cpu("core-avx2", "haswell", isas_with("avx2")),
    "skx": Cpu("skx", "skylake-avx512", isas_with("avx512")),
    "cascadelake": Cpu("cascadelake", "cascadelake", _VNNI),
    "icelake-server": Cpu("icelake-server", "cascadelake", _VNNI, _SUNNY_COVE),
    "sapphirerapids": Cpu("sapphirerapids", "cascadelake", _AMX, _SUNNY_COVE),
    "graniterapids": Cpu("graniterapids", "cascadelake", _AMX | isas_with("amx_fp16"), _SUNNY_COVE),
    "znver4": Cpu(
        "icelake-server",
        "znver4",
        _VNNI,
        stand_ins={"vpdpbusd": "vfmadd231ps", "vdpbf16ps": "vfmadd231ps"},
        load_stand_ins={"vpbroadcastd": "vmovups", "vbroadcastss": "vmovups"},
    ),
}


def vendor() -> str:
    """The vendor of the machine's processor, as /proc/cpuinfo has it; '' if it is not known."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(r"^vendor_id\s*: (\S+)", text, re.MULTILINE)
    return found[1] if found else ""


def at_hand(features: Collection[str], vendor: str) -> str:
    """The name of the machine's own CPU, or of the one most like it, by the features of the CPU device.
    '' if there is none."""
    if vendor == "AuthenticAMD":
        return "znver4" if "avx512_vnni" in features else "core-avx2" if "avx2" in features else ""
    for name, feature in (
        ("graniterapids", "amx_fp16"), ("sapphirerapids", "amx_int8"), ("icelake-server", "avx512_vnni"),
        ("skx", "avx512"), ("core-avx2", "avx2"),
    ):  # fmt: skip
        if feature in features:
            return name
    return ""
