# SPDX-License-Identifier: Apache-2.0
"""`python tests/isa/judge` for CPUs: the disassembly, the K loop, llvm-mca, and one real build."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zemm
from judge import cli
from judge.cpu import mca, run
from judge.cpu.assembly import Instruction, parse
from judge.cpu.loops import depth, k_loops, products
from judge.cpu.mca import CPUS, Cpu
from judge.cpu.tools import Tools, newest
from judge.errors import IsaError
from support_dumps import elf

# Two rows or one (a switch), a block of K at a time: each case has its K loop. The block for two rows
# branches around a load. Bytes between functions are padding.
DISASSEMBLY = """\

module.o:\tfile format elf64-x86-64

Disassembly of section .ltext:

0000000000000000 <helper>:
       0:      \tretq
       1:      \tnopw\t%cs:(%rax,%rax)

0000000000000010 <matmul>:
      10:      \tpushq\t%rbp
      20:      \tvmovups\t0x40(%rsp), %zmm9
      28:      \tcmpl\t$0x1, %esi
      2b:      \tja\t0x80 <matmul+0x70>
      2d:      \tjmpq\t*(%rcx,%rsi,8)
      30:      \ttestl\t%edi, %edi
      32:      \tje\t0x3a <matmul+0x2a>
      34:      \tvmovups\t(%rdx), %zmm8
      3a:      \txorl\t%eax, %eax
      40:      \tvmovdqu64\t(%r9,%rax), %zmm4
      48:      \tvpdpbusd\t(%r15,%r8,4){1to16}, %zmm4, %zmm0
      50:      \tvpdpbusd\t%zmm5, %zmm4, %zmm1        # a comment
      54:      \taddq\t0x18(%rsp), %rax
      58:      \tjne\t0x40 <matmul+0x30>
      5a:      \tvcvtdq2ps\t%zmm0, %zmm0
      5e:      \tjmp\t0x78 <matmul+0x68>
      60:      \tvmovdqu64\t(%r9,%rax), %zmm4
      68:      \tvpdpbusd\t%zmm5, %zmm4, %zmm0
      6c:      \tjne\t0x60 <matmul+0x50>
      6e:      \tvcvtdq2ps\t%zmm0, %zmm0
      70:      \tvcvtdq2ps\t%zmm0, %zmm0
      78:      \tdecl\t%edx
      7a:      \tjne\t0x20 <matmul+0x10>
      7c:      \tretq
      7d:      \tnopl\t(%rax)
      80:      \tud2
"""
INTEL = CPUS["icelake-server"]
ROW: Any = SimpleNamespace(rows=2, tile_n=16, has_tiles=False)
TILES_ROW: Any = SimpleNamespace(rows=32, tile_n=64, has_tiles=True)
INTEL_SERVERS = ("cascadelake", "icelake-server", "sapphirerapids")


def answer(
    lines: list[str], cycles: float, busy: float, uops: float = 1.0, limit: float = 0.0
) -> dict[str, Any]:
    """An answer of llvm-mca about these lines, in its JSON, with one busy port."""
    summary = {
        "Iterations": 100,
        "TotalCycles": 100 * cycles,
        "TotaluOps": 100 * uops,
        "DispatchWidth": 6,
        "BlockRThroughput": limit,
    }
    info = [
        {"Instruction": n, "mayLoad": "(" in line, "mayStore": line.endswith(")")}
        for n, line in enumerate(lines)
    ]
    pressure = [
        {"InstructionIndex": 0, "ResourceIndex": 1, "ResourceUsage": busy},
        {"InstructionIndex": len(lines), "ResourceIndex": 0, "ResourceUsage": 999.0},  # the sum
    ]
    region = {
        "SummaryView": summary,
        "Instructions": lines,
        "InstructionInfoView": {"InstructionList": info},
        "ResourcePressureView": {"ResourcePressureInfo": pressure},
    }
    return {"CodeRegions": [region], "TargetInfo": {"Resources": ["SKXPort0", "SKXPort5"]}}


class Asked(Tools):
    """A stand-in for llvm-mca: each instruction takes half a cycle. Keeps what it was asked."""

    def __init__(self, busy: float = 1.0) -> None:
        self.asked: list[list[str]] = []
        self.busy = busy

    def mca(self, lines: list[str], model: str, iterations: int) -> dict[str, Any]:
        self.asked.append(lines)
        cycles = len(lines) / 2
        return answer(lines, cycles, self.busy * cycles, limit=cycles)


def instruction(text: str) -> Instruction:
    (function,) = parse(f"0000000000000000 <f>:\n       0:      \t{text}\n")
    return function.blocks[0].instructions[0]


@pytest.mark.parametrize(
    ("text", "op", "operands", "memory"),
    [
        ("vmovups\t-0x4(%rsp,%rcx,4), %zmm3", "vmovups", "-0x4(%rsp,%rcx,4), %zmm3", "-0x4(%rsp,%rcx,4)"),
        ("{vex}\tvpdpbusd\t%ymm1, %ymm2, %ymm3", "{vex} vpdpbusd", "%ymm1, %ymm2, %ymm3", ""),
        ("leaq\t(%rax,%rbx), %rcx", "leaq", "(%rax,%rbx), %rcx", ""),
        ("jne\t0x20 <matmul+0x10>", "jne", "0x20", ""),
        ("vaddps\t(%rax){1to16}, %zmm1, %zmm1 # y", "vaddps", "(%rax){1to16}, %zmm1, %zmm1", "(%rax){1to16}"),
    ],
)
def test_instruction(text: str, op: str, operands: str, memory: str) -> None:
    found = instruction(text)
    assert (found.op, found.operands, found.memory) == (op, operands, memory)


def test_refuses_other_text() -> None:
    with pytest.raises(IsaError, match="no functions"):
        parse("error: no such file\n")


@pytest.mark.parametrize(
    ("text", "of_k", "all_of_them"),
    [
        ("vpdpbusd\t%zmm1, %zmm2, %zmm3", 4, 64),
        ("{vex}\tvpdpbusd\t(%rax), %ymm2, %ymm3", 4, 32),
        ("vpmaddwd\t%ymm1, %ymm2, %ymm3", 2, 16),
        ("vfmadd231ps\t%zmm1, %zmm2, %zmm3 {%k1} {z}", 1, 16),
        ("vfmadd213ss\t%xmm1, %xmm2, %xmm3", 1, 1),
        ("vdpbf16ps\t%zmm1, %zmm2, %zmm3", 2, 32),
        ("vpmulld\t%zmm1, %zmm2, %zmm3", 0, 0),
        ("vmulps\t%zmm1, %zmm2, %zmm3", 0, 0),
        ("tdpbsud\t%tmm6, %tmm4, %tmm0", 64, 16384),
        ("tdpfp16ps\t%tmm6, %tmm4, %tmm0", 32, 8192),
        ("tileloadd\t(%rdx,%rax), %tmm4", 0, 0),
    ],
)
def test_products(text: str, of_k: int, all_of_them: int) -> None:
    found = instruction(text)
    assert (depth(found.op), products(found)) == (of_k, all_of_them)


def test_k_loops() -> None:
    found = k_loops(parse(DISASSEMBLY))
    assert [(loop.header, loop.products) for loop in found] == [("40", 128), ("60", 64)]


# A loop over groups of 32, whose latch has padding before it.
TILES = """\
0000000000000000 <matmul>:
       0:      \tjmp\t0x20 <matmul+0x20>
       5:      \tnopw\t%cs:(%rax,%rax)
      10:      \tincq\t%rax
      20:      \ttilezero\t%tmm0
      24:      \ttileloadd\t(%rdx,%rax), %tmm4
      28:      \ttileloadd\t(%r10,%r14), %tmm6
      30:      \ttdpbssd\t%tmm6, %tmm4, %tmm0
      38:      \ttilestored\t%tmm1, 0x8400(%r10,%r14)
      40:      \tvcvtdq2ps\t0x40(%rsp), %zmm17
      48:      \tvfmadd231ps\t-0x7c(%rsi){1to16}, %zmm17, %zmm0
      50:      \tvmovups\t%zmm0, 0x80(%rsp)
      58:      \tjne\t0x10 <matmul+0x10>
      60:      \tretq
"""


def test_loop_of_tiles() -> None:
    """Products may hide loads of tiles, and everything else is added."""
    found = run.figures_of(parse(TILES), INTEL, Asked(), TILES_ROW, 2172)
    assert [found[key] for key in ("k", "multiplies", "stores", "spills")] == [64, 1, 2, 1]
    vectors = 5 / 2  # the instructions that are left, each of which takes half a cycle
    assert (found["limit"], found["cycles"]) == (16, 21 + 16 + vectors)
    assert found["bound"] == "tiles 21, stores 16, vectors 2"


class TestMca:
    def estimate(self, text: str, cpu: Cpu = INTEL, busy: float = 1.0) -> tuple[mca.Estimate, Asked]:
        tools = Asked(busy)
        return mca.estimate([instruction(line) for line in text.splitlines()], cpu, tools), tools

    def test_what_is_asked(self) -> None:
        found, tools = self.estimate(
            "vpdpbusd\t0x40(%rax){1to16}, %zmm1, %zmm2\nvpaddd\t%zmm1, %zmm1, %zmm1\njne\t0x20 <f+0x20>"
        )
        block, multiplies = tools.asked
        assert block[1:] == ["vpaddd %zmm1, %zmm1, %zmm1", "jne block"]
        assert multiplies == ["vpdpbusd %zmm0, %zmm1, %zmm2"]  # without the load
        assert (found.cycles, found.limit, found.loads, found.stores) == (1.5, 0.5, 1, 0)

    def test_stand_ins(self) -> None:
        text = "vpdpbusd\t%zmm0, %zmm1, %zmm2\nvpbroadcastd\t(%rax), %zmm1\nvpbroadcastd\t%xmm1, %zmm1"
        _, tools = self.estimate(text, CPUS["znver4"])
        assert [line.split()[0] for line in tools.asked[0]] == ["vfmadd231ps", "vmovups", "vpbroadcastd"]
        assert [line.split()[0] for line in tools.asked[1]] == ["vfmadd231ps"]

    def test_bound(self) -> None:
        assert self.estimate("vpdpbusd\t%zmm1, %zmm1, %zmm1")[0].bound == "Port5"
        assert self.estimate("vpdpbusd\t%zmm1, %zmm1, %zmm1", busy=0.5)[0].bound == "Port5 50 %"


@pytest.mark.parametrize(("m", "multiplies", "spills", "share"), [(2172, 2, 1, 0.4), (1, 1, 0, 0.3333)])
def test_figures(m: int, multiplies: int, spills: int, share: float) -> None:
    """Of the loop for as many rows as are multiplied at once, or of that for one."""
    found = run.figures_of(parse(DISASSEMBLY), INTEL, Asked(), ROW, m)
    assert (found["k"], found["multiplies"], found["spills"], found["share"]) == (
        4,
        multiplies,
        spills,
        share,
    )


def test_no_loop() -> None:
    with pytest.raises(IsaError, match="no loop that multiplies"):
        run.figures_of(parse(DISASSEMBLY)[:1], INTEL, Asked(), ROW, 2172)


def test_calls() -> None:
    text = DISASSEMBLY.replace("vmovdqu64\t(%r9,%rax), %zmm4", "callq\t0x0 <helper>")
    with pytest.raises(IsaError, match="calls 1 functions"):
        run.figures_of(parse(text), INTEL, Asked(), ROW, 2172)


def test_object_of() -> None:
    inner = elf({".ltext": b"code"})
    assert run.object_of(b"ZECPUBIN header" + elf({".ocl.ir": b"BC", ".ocl.obj": b"pad" + inner})) == inner


@pytest.mark.parametrize("native", [b"", b"ZECPUBIN", elf({".ocl.ir": b"BC"}), elf({".ocl.obj": b"x"})])
def test_no_object(native: bytes) -> None:
    with pytest.raises(IsaError, match=re.escape(".ocl.obj")):
        run.object_of(native)


def test_unknown_target(tmp_path: Path) -> None:
    (tmp_path / "k.spv").write_bytes(b"")
    with pytest.raises(IsaError, match="does not build it for nothing"):
        run.build(tmp_path / "k.spv", "nothing", "")


def test_no_llvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsaError, match="there is no llvm-mca"):
        Tools()


@pytest.mark.llvm_mca
@pytest.mark.skipif(newest()[0] < 16, reason="there is no llvm-mca of version 16 or newer")
class TestReal:
    @pytest.mark.parametrize(
        ("device", "op", "a_cycle"),
        [
            *((name, op, 2) for name in INTEL_SERVERS for op in ("vfmadd231ps", "vpdpbusd")),
            ("skx", "vfmadd231ps", 2),
            ("znver4", "vfmadd231ps", 1),
            ("znver4", "vpdpbusd", 1),
        ],
    )
    def test_rates(self, device: str, op: str, a_cycle: int) -> None:
        """The multiplies of 512 bits a cycle, with operands from registers and from memory, in the model
        that stands for the core.
        """
        lines = [f"{op}\t%zmm31, %zmm30, %zmm{n}" for n in range(16)]
        lines += [f"{op}\t(%rax){{1to16}}, %zmm30, %zmm{n}" for n in range(16, 24)]
        found = mca.estimate([instruction(line) for line in lines], CPUS[device], Tools())
        assert found.limit == 24 / a_cycle
        assert found.cycles == pytest.approx(found.limit, rel=0.02)

    def test_row(self, monkeypatch: pytest.MonkeyPatch) -> None:
        if "avx512_vnni" not in zemm.Engine("cpu").features:
            pytest.skip("this CPU has no AVX512-VNNI, without which the row's module is not made")
        monkeypatch.setattr(run, "PROBLEMS", [p for p in run.PROBLEMS if p.name in ("u8:s8", "s8:u8 groups")])
        monkeypatch.setattr(run, "COUNTS", {"many rows": run.COUNTS["many rows"]})
        name = "matmul_int8_any_any_264x64x256_avx512_vnni"
        rows = run.Rows(["core-avx2", "sapphirerapids", "znver4"], name)
        assert rows.skipped == [f"{name} on core-avx2: core-avx2 has no avx512_vnni"]
        outcome = cli.judge([cli.Job(*job) for job in rows.jobs])
        assert (rows.failures, outcome.failures) == ([], [])
        assert len(outcome.figures) == 4
        for found in outcome.figures:
            # 4 rows by 4 vectors of sums; each vector of weights and each row of src is loaded once.
            of_the_loop = [found[key] for key in ("multiplies", "k", "loads", "stores", "spills")]
            assert of_the_loop == [16, 4, 8, 0, 0], found
            assert found["limit"] == (8 if found["device"] == "sapphirerapids" else 16)
            assert found["limit"] <= found["cycles"]

    def test_rows_of_tiles(self) -> None:
        """They are built for a CPU that has them. Plain bytes: the loop has nothing but four products and
        their loads. Groups of 32: two products, of which each is stored and scaled."""
        rows = run.Rows(["sapphirerapids", "znver4"], "matmul_int8_any_any_256x64x1024_amx_int8")
        outcome = cli.judge([cli.Job(*job) for job in rows.jobs])
        assert (len(rows.skipped), rows.failures, outcome.failures) == (1, [], [])
        found = {figures["problem"]: figures for figures in outcome.figures}
        keys = ("multiplies", "k", "stores", "spills", "limit")
        assert [found["u8:s8, many rows"][key] for key in keys] == [4, 64, 0, 0, 64]
        assert [found["s8:s8 groups of 32, many rows"][key] for key in keys] == [2, 64, 2, 0, 32]
