# SPDX-License-Identifier: Apache-2.0
"""The CPUs whose machine code can be judged: what the OpenCL CPU runtime builds for them, and by which
of llvm-mca's models their cycles are counted.

The models of newer Intel server cores have wrong rates for 512-bit multiplies (LLVM 19): one FMA a
cycle for icelake-server, one multiply of any kind a cycle for sapphirerapids, where the cores have
two ports for them (0 and 5). The model of Skylake's server cores has both ports, and as many 512-bit
loads a cycle, so it stands for all of them.

The model of znver4 has half the rate for vpdpbusd, unless it loads an operand, and lets loads that
broadcast an element wait for the multiplying pipes. zemm's int8 row with groups reached 88 % of the
multiplies of a register-only loop on a Zen 4, where that model allows 74 %. So a multiply-add of f32
stands for vpdpbusd (it has the pipes and the latency), and a plain load for one that broadcasts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from zemm._library.lists import isas_with


@dataclass(frozen=True)
class Cpu:
    target: str  # for CL_CONFIG_CPU_TARGET_ARCH
    model: str  # for llvm-mca -mcpu
    features: frozenset[str]  # of those that rows of kernels.def want
    # Opcodes that llvm-mca gets instead: of any instruction, and of instructions that load.
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    load_stand_ins: Mapping[str, str] = field(default_factory=dict)


# AVX-VNNI is the same instruction in a shorter encoding; the runtime encodes it as the CPU wants.
_VNNI = isas_with("avx512_vnni")
_AMX = isas_with("avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16")

# The runtime has no targets of other names (of those that can run the rows of kernels.def). Zen 4
# has the instructions of icelake-server.
CPUS = {
    "core-avx2": Cpu("core-avx2", "haswell", isas_with("avx2")),
    "skx": Cpu("skx", "skylake-avx512", isas_with("avx512")),
    "cascadelake": Cpu("cascadelake", "cascadelake", _VNNI),
    "icelake-server": Cpu("icelake-server", "cascadelake", _VNNI),
    "sapphirerapids": Cpu("sapphirerapids", "cascadelake", _AMX),
    "graniterapids": Cpu("graniterapids", "cascadelake", _AMX | isas_with("amx_fp16")),
    "znver4": Cpu(
        "icelake-server",
        "znver4",
        _VNNI,
        {"vpdpbusd": "vfmadd231ps"},
        {"vpbroadcastd": "vmovups", "vbroadcastss": "vmovups"},
    ),
}
