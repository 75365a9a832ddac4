# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.isa` for CPUs: the disassembly, the K loop, what llvm-mca is asked, and one real
build.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import zemm
from support_isa import elf
from support_tree import ROOT
from test_isa_command import fails
from zemm.isa.cpu import compiler, mca, rows, run
from zemm.isa.cpu.analysis import Shape, analyse
from zemm.isa.cpu.assembly import Function, Instruction, parse
from zemm.isa.cpu.devices import CPUS, Cpu
from zemm.isa.cpu.loops import k_loops
from zemm.isa.cpu.multiplies import depth, products
from zemm.isa.cpu.paths import around
from zemm.isa.cpu.tools import Tools
from zemm.isa.errors import IsaError

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
      11:      \tmovabsq\t$0x0, %rcx
\t\t0000000000000013:  R_X86_64_64\t.rodata+0x8
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
RELOCATIONS = """\
RELOCATION RECORDS FOR [.ltext]:
OFFSET           TYPE                     VALUE
0000000000000013 R_X86_64_64              .rodata+0x8

RELOCATION RECORDS FOR [.rodata]:
OFFSET           TYPE                     VALUE
0000000000000000 R_X86_64_64              .ltext
0000000000000008 R_X86_64_64              .ltext+0x30
0000000000000010 R_X86_64_64              .ltext+0x60
"""

# A loop over segments, of which some are copied, with one over halves of the columns, with one over steps of
# tiles, with one that scales a row a trip. Nothing is scaled yet in the other loop over steps.
_STEP = """\
      {0}0:      \ttileloadd\t(%rax,%rcx), %tmm6
      {0}2:      \ttdpbusd\t%tmm6, %tmm4, %tmm0
      {0}4:      \ttdpbusd\t%tmm7, %tmm4, %tmm1
      {0}6:      \ttdpbusd\t%tmm6, %tmm5, %tmm2
      {0}8:      \ttdpbusd\t%tmm7, %tmm5, %tmm3
"""
_STORE = """\
      {0}0:      \ttilestored\t%tmm0, (%rax,%rcx)
      {0}2:      \ttilestored\t%tmm1, (%rax,%rcx)
      {0}4:      \ttilestored\t%tmm2, (%rax,%rcx)
      {0}6:      \ttilestored\t%tmm3, (%rax,%rcx)
"""
SHORT_SEGMENTS = (
    """\
0000000000000000 <matmul>:
       0:      \tpushq\t%rbp
      10:      \tincl\t%ecx
      12:      \tjne\t0x18 <matmul+0x18>
      14:      \tcallq\t0x0 <matmul>
      18:      \txorl\t%eax, %eax
      20:      \ttestl\t%edi, %edi
      22:      \tje\t0x60 <matmul+0x60>
      24:      \tleaq\t(%rax,%rcx), %rsi
"""
    + _STEP.format(3)
    + """\
      3a:      \tjge\t0x50 <matmul+0x50>
      40:      \tvfmadd213ps\t(%r15,%rcx), %zmm4, %zmm5
      42:      \tvmovups\t%zmm5, (%r15,%rcx)
      44:      \tvmovups\t%zmm5, 0x40(%r15,%rcx)
      46:      \tjl\t0x40 <matmul+0x40>
      50:      \tincq\t%rdi
      52:      \tjne\t0x30 <matmul+0x30>
      54:      \tjmp\t0x70 <matmul+0x70>
"""
    + _STEP.format(6)
    + "      6a:      \tjne\t0x60 <matmul+0x60>\n"
    + _STORE.format(7)
    + """\
      7a:      \tjne\t0x20 <matmul+0x20>
      80:      \tdecl\t%edx
      82:      \tjne\t0x10 <matmul+0x10>
      84:      \tretq
"""
)
# Both halves of the columns in a loop over groups of rows.
LONG_SEGMENTS = (
    "0000000000000000 <matmul>:\n       0:      \tpushq\t%rbp\n      10:      \tnop\n"
    + _STEP.format(2)
    + "      2a:      \tjne\t0x20 <matmul+0x20>\n"
    + _STORE.format(3)
    + "      3a:      \tje\t0x50 <matmul+0x50>\n"
    + _STEP.format(4)
    + "      4a:      \tjne\t0x40 <matmul+0x40>\n"
    + _STORE.format(5)
    + "      5a:      \tjne\t0x10 <matmul+0x10>\n      5c:      \tretq\n"
)

INTEL = CPUS["icelake-server"]
INTEL_SERVERS = ("cascadelake", "icelake-server", "sapphirerapids", "graniterapids")


def newest_llvm() -> int:
    try:
        return Tools().llvm
    except IsaError:
        return 0


def matmul() -> Function:
    return parse(DISASSEMBLY, RELOCATIONS)[1]


def answer(
    lines: list[str], cycles: float, busy: float, uops: float = 1.0, limit: float = 0.0
) -> dict[str, Any]:
    """What llvm-mca says of these lines, in its JSON, with one busy port."""
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


class TestAssembly:
    def test_blocks(self) -> None:
        helper, found = parse(DISASSEMBLY, RELOCATIONS)
        assert (helper.name, found.name) == ("helper", "matmul")
        assert [(b.name, b.successors) for b in found.blocks] == [
            ("10", ["20"]),
            ("20", ["80", "2d"]),
            ("2d", ["30", "60"]),
            ("30", ["3a", "34"]),
            ("34", ["3a"]),
            ("3a", ["40"]),
            ("40", ["40", "5a"]),
            ("5a", ["78"]),
            ("60", ["60", "6e"]),
            ("6e", ["78"]),
            ("78", ["20", "7c"]),
            ("7c", []),
            ("80", []),
        ]

    @pytest.mark.parametrize(
        ("text", "op", "operands", "memory"),
        [
            ("vmovups\t-0x4(%rsp,%rcx,4), %zmm3", "vmovups", "-0x4(%rsp,%rcx,4), %zmm3", "-0x4(%rsp,%rcx,4)"),
            ("{vex}\tvpdpbusd\t%ymm1, %ymm2, %ymm3", "{vex} vpdpbusd", "%ymm1, %ymm2, %ymm3", ""),
            ("leaq\t(%rax,%rbx), %rcx", "leaq", "(%rax,%rbx), %rcx", ""),
            ("jne\t0x20 <matmul+0x10>", "jne", "0x20", ""),
            ("vaddps\t(%rax){1to16}, %zmm1, %zmm1 # y", "vaddps", "(%rax){1to16}, %zmm1, %zmm1",
             "(%rax){1to16}"),
        ],
    )  # fmt: skip
    def test_instruction(self, text: str, op: str, operands: str, memory: str) -> None:
        found = instruction(text)
        assert (found.op, found.operands, found.memory) == (op, operands, memory)

    def test_refuses_other_text(self) -> None:
        with pytest.raises(IsaError, match="no functions"):
            parse("error: no such file\n")


class TestMultiplies:
    @pytest.mark.parametrize(
        ("text", "of_k", "all_of_them"),
        [
            ("vpdpbusd\t%zmm1, %zmm2, %zmm3", 4, 64),
            ("{vex}\tvpdpbusd\t(%rax), %ymm2, %ymm3", 4, 32),
            ("vpmaddwd\t%ymm1, %ymm2, %ymm3", 2, 16),
            ("vfmadd231ps\t%zmm1, %zmm2, %zmm3 {%k1} {z}", 1, 16),
            ("vfmadd213ss\t%xmm1, %xmm2, %xmm3", 1, 1),
            ("vdpbf16ps\t%zmm1, %zmm2, %zmm3", 2, 32),
            ("tdpbusd\t%tmm1, %tmm2, %tmm3", 64, 16384),
            ("tdpbf16ps\t%tmm1, %tmm2, %tmm3", 32, 8192),
            ("vpmulld\t%zmm1, %zmm2, %zmm3", 0, 0),
            ("vmulps\t%zmm1, %zmm2, %zmm3", 0, 0),
        ],
    )
    def test_products(self, text: str, of_k: int, all_of_them: int) -> None:
        found = instruction(text)
        assert (depth(found.op), products(found.op, found.operands)) == (of_k, all_of_them)


class TestLoops:
    def test_k_loops(self) -> None:
        assert [(loop.header, loop.products) for loop in k_loops([matmul()])] == [("40", 128), ("60", 64)]

    def test_tiles(self) -> None:
        """Multiplies of vectors beside those of tiles do not count."""
        text = DISASSEMBLY.replace("vpdpbusd\t%zmm5, %zmm4, %zmm1", "tdpbusd\t%tmm5, %tmm4, %tmm1")
        loop = k_loops(parse(text, RELOCATIONS))[0]
        assert ([i.op for i in loop.multiplies], loop.products) == (["tdpbusd"], 16 * 16 * 64)

    def test_around(self) -> None:
        """The way with the most instructions, without the other case and without the K loop."""
        two, one = k_loops([matmul()])
        for loop, before, after in (
            (two, ["20", "28", "2b", "2d", "30", "32", "34", "3a"], ["5a", "5e", "78", "7a"]),
            (one, ["20", "28", "2b", "2d"], ["6e", "70", "78", "7a"]),
        ):
            found = around(loop)
            assert found
            assert [[f"{i.address:x}" for i in part] for part in found] == [before, after]

    def test_nothing_around(self) -> None:
        function = parse(DISASSEMBLY.replace("jne\t0x20", "jne\t0x7c"), RELOCATIONS)[1]
        assert around(k_loops([function])[0]) is None


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
        assert self.estimate("vpaddd\t%zmm1, %zmm1, %zmm1")[0].bound == "Port5"
        assert self.estimate("vpaddd\t%zmm1, %zmm1, %zmm1", busy=0.5)[0].bound == "Port5 50 %"

    def test_tiles(self) -> None:
        """llvm-mca does not get tile instructions: their cycles are known."""
        tiles = "tileloadd\t(%rax,%rcx), %tmm4\n" * 2 + "tdpbusd\t%tmm1, %tmm2, %tmm3\n" * 3
        found, tools = self.estimate(tiles + "vpaddd\t%zmm1, %zmm1, %zmm1")
        assert tools.asked == [["vpaddd %zmm1, %zmm1, %zmm1"]]
        assert (found.cycles, found.limit, found.bound, found.loads) == (48, 48, "tile products", 2)
        found, _ = self.estimate(tiles + tiles[: tiles.index("tdp")] * 5 + "nop")
        assert (found.cycles, found.limit, found.bound) == (96, 48, "tile loads")


class TestAnalysis:
    SHAPE = Shape(rows=2, columns=16, block_k=16)

    def test_all_rows(self) -> None:
        tools = Asked()
        found = analyse(parse(DISASSEMBLY, RELOCATIONS), INTEL, tools, self.SHAPE, one_row=False)
        assert (found.k, found.multiplies, found.instructions, found.spills) == (4, 2, 5, 1)
        assert (found.loop.cycles, found.loop.limit, found.share) == (2.5, 1.0, 0.4)
        # 12 instructions around four trips of five.
        assert found.block
        assert (found.block.trips, found.block.estimate.cycles) == (4, 16)
        assert found.block_share == 4 / 16
        assert found.json()["block_cycles"] == 16

    def test_one_row(self) -> None:
        found = analyse(parse(DISASSEMBLY, RELOCATIONS), INTEL, Asked(), self.SHAPE, one_row=True)
        assert (found.k, found.multiplies, found.spills) == (4, 1, 0)

    def test_no_loop(self) -> None:
        with pytest.raises(IsaError, match="no loop that multiplies"):
            analyse(parse(DISASSEMBLY)[:1], INTEL, Asked(), self.SHAPE, one_row=False)

    def test_calls(self) -> None:
        text = DISASSEMBLY.replace("vmovdqu64\t(%r9,%rax), %zmm4", "callq\t0x0 <helper>")
        with pytest.raises(IsaError, match="calls 1 functions"):
            analyse(parse(text, RELOCATIONS), INTEL, Asked(), self.SHAPE, one_row=False)

    @pytest.mark.parametrize(("block_k", "steps", "rows"), [(128, 2, 16), (192, 3, 11), (4096, 64, 1)])
    def test_short_segments(self, block_k: int, steps: int, rows: int) -> None:
        """The loop that scales 32 rows of a unit has its part of them in each step. No rows are copied."""
        tools = Asked()
        shape = Shape(rows=32, columns=64, block_k=block_k)
        found = analyse(parse(SHORT_SEGMENTS), CPUS["sapphirerapids"], tools, shape, one_row=False)
        assert (found.k, found.multiplies, found.loop.limit, found.loop.stores) == (64, 4, 64, 2 * rows)
        assert len(tools.asked[0]) == 3 + 4 * rows
        assert found.block
        assert (found.block.k, found.block.trips) == (block_k, 2 * steps)
        # Five around the steps of each half of the columns, five around the halves.
        assert len(tools.asked[1]) == 5 + 2 * (5 + steps * (3 + 4 * rows))
        estimate = found.block.estimate
        assert (estimate.tile_loads, estimate.tile_stores) == (2 * steps, 8)
        assert found.block.stored == 2 * 4 * 1024 + 2 * steps * rows * 128

    def test_long_segments(self) -> None:
        """The steps of both halves are those of one of them, twice."""
        tools = Asked()
        shape = Shape(rows=32, columns=64, block_k=512)
        found = analyse(parse(LONG_SEGMENTS), CPUS["sapphirerapids"], tools, shape, one_row=False)
        assert found.block
        assert (found.block.trips, found.block.estimate.cycles, found.block_share) == (16, 16 * 64, 1)
        assert (len(tools.asked[1]), found.block.stored) == (16 + 3, 8 * 1024)
        once = LONG_SEGMENTS.replace("jne\t0x10 <matmul+0x10>", "nop")
        assert analyse(parse(once), CPUS["sapphirerapids"], Asked(), shape, one_row=False).block is None


class TestBinary:
    def test_object_of(self) -> None:
        inner = elf({".ltext": b"code"})
        assert (
            compiler.object_of(b"ZECPUBIN header" + elf({".ocl.ir": b"BC", ".ocl.obj": b"pad" + inner}))
            == inner
        )

    @pytest.mark.parametrize("native", [b"", b"ZECPUBIN", elf({".ocl.ir": b"BC"}), elf({".ocl.obj": b"x"})])
    def test_no_object(self, native: bytes) -> None:
        with pytest.raises(IsaError, match=re.escape(".ocl.obj")):
            compiler.object_of(native)

    def test_unknown_target(self, tmp_path: Path) -> None:
        (tmp_path / "k.spv").write_bytes(b"")
        with pytest.raises(IsaError, match=r"does not build it for nothing \(exit code \d+\)"):
            compiler.build(tmp_path / "k.spv", "nothing", "", tmp_path)


def test_tiles_in_hardware() -> None:
    """The constant that rows of AMX are built with is that of the kernels."""
    text = (ROOT / "src/kernels/args/matmul_args.h").read_text()
    assert re.search(rf"^#define SPEC_TILES {rows.SPEC_TILES}\b", text, re.MULTILINE)
    (names,) = re.findall(r"\{[^{}]*\bTILES_IN_HARDWARE\b[^{}]*\}", text)
    order = re.findall(r"\bTILES_\w+", names)
    assert order.index("TILES_IN_HARDWARE") == rows.TILES_IN_HARDWARE


class TestCommand:
    def test_bad_input(self, tmp_path: Path) -> None:
        fails("did you mean sapphirerapids", "--device", "saphirerapids")
        fails("the OpenCL CPU runtime can build core-avx2, skx", "--device", "alderlake")
        fails("name one kind at a time", "--device", "pvc,znver4")
        fails("--spirv is for GPUs, znver4 is a CPU", "--device", "znver4", "--spirv", tmp_path / "k.spv")
        fails("no CPU row 'matmul_nothing'", "--device", "znver4", "--row", "matmul_nothing")

    def test_no_llvm(self, tmp_path: Path) -> None:
        fails("there is no llvm-mca", "--device", "znver4", PATH=str(tmp_path))


@pytest.mark.llvm_mca
@pytest.mark.skipif(newest_llvm() < 16, reason="there is no llvm-mca of version 16 or newer")
class TestReal:
    @pytest.mark.parametrize(
        ("device", "op", "a_cycle"),
        [
            *((name, op, 2) for name in INTEL_SERVERS for op in ("vfmadd231ps", "vpdpbusd")),
            ("skx", "vfmadd231ps", 2),
            ("znver4", "vfmadd231ps", 1),
            ("znver4", "vpdpbusd", 1),
        ],
    )  # fmt: skip
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
        monkeypatch.setattr(rows, "COUNTS", {"many rows": rows.COUNTS["many rows"]})
        name = "matmul_int8_any_any_120x64x256_avx512_vnni"
        found = run.CpuRun(["core-avx2", "sapphirerapids", "znver4"], name, None)
        found.run()
        assert found.failures == []
        assert found.skipped == [f"{name} on core-avx2: core-avx2 has no avx512_vnni"]
        figures = {(line.problem, line.device): line.analysis for line in found.lines}
        assert {device for _, device in figures} == {"sapphirerapids", "znver4"}
        for (problem, device), a in figures.items():
            # 4 rows by 4 vectors of sums; each vector of weights and each row of src is loaded once.
            assert (a.multiplies, a.k, a.loop.loads, a.loop.stores, a.spills) == (16, 4, 8, 0, 0), device
            assert a.loop.limit == (8 if device == "sapphirerapids" else 16)
            assert a.loop.limit <= a.loop.cycles
            assert a.block
            assert a.block.trips == (32 if "groups" in problem else 64)
            assert a.block.estimate.cycles > a.block.trips * a.loop.limit
        for device in ("sapphirerapids", "znver4"):  # attributes cost something
            bare, groups = (figures[f"{p}, many rows", device].block_share for p in ("u8:s8", "s8:u8 groups"))
            assert bare
            assert groups
            assert bare > groups
        shares = {(p.problem, p.device): p.share for p in found.predictions}
        assert shares.keys() == figures.keys()
        for name, share in shares.items():  # the second cache level costs something
            assert 0.5 < share < (figures[name].block_share or 0)
