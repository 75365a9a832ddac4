# SPDX-License-Identifier: Apache-2.0
"""The parts of `python tests/isa/judge` for GPUs: the assembly reader, the K loop, the model, the compiler's
dumps, and SPIR-V constants."""

import re
import shlex
import struct
import subprocess
import sys
from pathlib import Path

import pytest
import zemm
from judge import analysis, assembly, binary, cli, loops, messages, model, overflow, pipes
from judge.compiler import Compiled, Compiler
from judge.errors import IsaError
from judge.pipes import Pipe
from support_dumps import NEWER, OLDER, elf
from support_process import captured
from support_spirv import spec_ids, specialised
from support_tree import ROOT

HPG, HPC, XE2, XE3 = (model.family_of(device) for device in ("dg2", "pvc", "bmg", "ptl"))


def line(text: str) -> assembly.Instruction:
    kernel = assembly.parse(NEWER + text + "\n")
    return kernel.blocks[-1].instructions[-1]


class TestAssembly:
    def test_newer_compiler(self) -> None:
        kernel = assembly.parse(NEWER)
        assert (kernel.platform, kernel.grf, kernel.spill) == ("XE2", 128, 64)
        assert [i.op for i in kernel.blocks[1].instructions] == [
            *("bfn", "mov", "mul", "math", "store", "load", "dpas", "goto"),
        ]
        assert kernel.blocks[1].instructions[0].suffixes == ("(s0&s1|s2)",)
        assert kernel.blocks[1].instructions[3].pipe_comment == "math"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("", "//.kernel"),
            ("//.kernel k\n//.platform DG2\n", "//.thread_config"),
            ("//.kernel k\n//.platform DG2\n//.thread_config numGRF=128, x\n", "no basic blocks"),
            (OLDER + "        ??? (1|M0) r1\n", "??? (1|M0) r1"),
        ],
    )
    def test_refuses_what_is_no_dump(self, text: str, words: str) -> None:
        with pytest.raises(IsaError, match=re.escape(words)):
            assembly.parse(text)


class TestLoops:
    def test_nested(self) -> None:
        kernel = assembly.parse(OLDER)
        assert {(loop.header, loop.body) for loop in loops.loops(kernel)} == {
            ("B001", frozenset({"B001", "B002", "B003"})),
            ("B002", frozenset({"B002"})),
        }
        found = loops.k_loop(kernel)
        assert found
        assert found.outer
        assert (found.inner.header, found.outer.header) == ("B002", "B001")
        assert [i.op for i in found.outer_only()] == ["mov"] * 4 + ["mad"] * 2 + ["load", "jmpi"]

    def test_single(self) -> None:
        found = loops.k_loop(assembly.parse(NEWER))
        assert found
        assert (found.inner.header, found.outer, found.outer_only()) == ("B001", None, [])

    def test_none(self) -> None:
        straight = OLDER.replace("{B003, B000}", "{B000}").replace("{B002, B001}", "{B001}")
        straight = straight.replace("{B003, B002}", "{B003}").replace("{B004, B001}", "{B004}")
        assert loops.k_loop(assembly.parse(straight)) is None


class TestPipes:
    @pytest.mark.parametrize(
        ("text", "pipe", "xe2", "hpg"),
        [
            ("dpas.8x8 (16|M0) r10:d r10:d r40:ub r60.0:b {$2}", Pipe.XMX, 16, 16),
            ("dpas.8x1 (16|M0) r10:d r10:d r40:u4 r60.0:b", Pipe.XMX, 2, 2),
            ("add (16|M0) r1.0<1>:d r2.0<1;1,0>:d r3.0<1;1,0>:d", Pipe.INT, 1, 2),
            ("add (1|M0) r1.0<1>:d r2.0<0;1,0>:d 32:w", Pipe.INT, 1, 1),
            ("mul (16|M0) acc0.0<1>:d r2.0<1;1,0>:d r3.0<0;1,0>:uw", Pipe.INT, 1, 2),
            ("macl (16|M0) r1.0<1>:d r2.0<1;1,0>:d r3.0<0;1,0>:d", Pipe.INT, 4, 8),
            ("mov (16|M0) r1.0<1>:f r2.0<1;1,0>:d", Pipe.FLOAT, 1, 2),
            ("mov (16|M0) r1.0<1>:d r2.0<1;1,0>:f", Pipe.INT, 1, 2),
            ("mad (32|M0) r5.0<1>:hf -r7.0<0;0>:hf acc0.0<1;0>:hf r10.0<0>:hf", Pipe.FLOAT, 1, 2),
            ("mad (32|M0) r5.0<1>:f r7.0<0;0>:f r4.0<1;0>:hf r10.0<0>:f", Pipe.FLOAT, 2, 4),
            ("add (16|M0) r1.0<1>:uq r2.0<0;1,0>:uq r3.0<2;1,0>:d", Pipe.INT, 2, 4),
            ("math.exp (16|M0) r1.0<1>:f r2.0<1;1,0>:f", Pipe.MATH, 4, 8),
            ("send.dc0 (8|M0) r2 r255 null:0 0x0 0x022843FD {$0} // wr:1h+0, rd:2; x", Pipe.SEND, 1, 1),
            ("sync.nop null {$1.src}", Pipe.SYNC, 0, 0),
            ("(W&~f0.1) jmpi _0_015", Pipe.BRANCH, 1, 1),
        ],
    )
    def test_pipe_and_cycles(self, text: str, pipe: Pipe, xe2: int, hpg: int) -> None:
        instruction = line(text)
        assert pipes.pipe_of(instruction) is pipe
        assert model.cycles(instruction, XE2) == xe2
        assert model.cycles(instruction, HPG) == hpg

    def test_agrees_with_what_the_compiler_says(self) -> None:
        said = [
            i
            for b in assembly.parse(NEWER).blocks
            for i in b.instructions
            if i.pipe_comment and i.op != "goto"
        ]
        assert [pipes.by_opcode(i).value for i in said] == [i.pipe_comment for i in said]
        assert len(said) == 5

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("frobnicate (16|M0) r1.0<1>:d r2.0<1;1,0>:d", "'frobnicate'"),
            ("mov (16|M0) r1.0<1>:d r2.0<1;1,0>:d //  ALU pipe: warp; $1", "'warp'"),
            ("dpas.8x9 (16|M0) r10:d r10:d r40:ub r60.0:b", "dpas.8xR"),
            ("dpas.8x8 (16|M0) r10:d r10:d r40:ub", "3 operand types"),
        ],
    )
    def test_unknown_is_refused_by_name(self, text: str, words: str) -> None:
        with pytest.raises(IsaError, match=words):
            model.cycles(line(text), XE2)


@pytest.mark.parametrize(
    ("text", "grf", "moved"),
    [
        ("load_block2d.ugm.d8v.a64 (1|M0) r3:8 [r53:1]", 64, {"loaded": 512, "loads": 1}),
        ("load_block2d.ugm.d16.a64 (1|M0) r3:31 [r53:1]", 64, {"loaded": 2048, "loads": 1}),
        ("load_block2d.ugm.d8.a64 (1|M0) null:0 [r53:1]", 64, {"prefetches": 1}),
        ("load.ugm.d32.a64.ca.ca (16|M0) null:0 [r5:2]", 64, {"prefetches": 1}),
        ("load.ugm.d32x64t.a32 (1|M0) r60:8 bss[a0.0][r4:1]", 32, {"loaded": 256, "loads": 1}),
        ("load.ugm.d32x8.a64 (16|M0) r7:8 [r5:2]", 64, {"loaded": 512, "loads": 1}),
        ("load.ugm.d16u32.a64.ca.ca (8|M0) r35:1 [r34:1]", 32, {"loaded": 16, "loads": 1}),
        ("load.slm.d32x8t.a32 (1|M0) r7:1 [r5:1]", 32, {"loaded": 32, "loads": 1, "slm_loaded": 32}),
        ("store.ugm.d32x8.a64 (16|M0) [r5:2] r7:8", 64, {"stored": 512, "stores": 1}),
        ("store_block2d.ugm.d32.a64 (1|M0) [r5:1] r7:8", 64, {"stored": 512, "stores": 1}),
        ("send.dc0 (16|M0) r61 r2 null:0 0x0 0x024844 // wr:1h+0, rd:4; oword aligned block read x8", 32,
         {"loaded": 128, "loads": 1}),
        ("send.dc0 (8|M0) null r246 r2:1 0x0 0x020F // wr:1h+1, rd:0; hword scratch block write x1", 32,
         {"stored": 32, "stores": 1, "spill": 1}),
        ("send.ugm (16|M0) r18 r16 null:0 0x0 0x04403580 // wr:2+0, rd:4; load.ugm.d32x4.a64 // $12", 64,
         {"loaded": 256, "loads": 1}),
        ("send.ugm (1|M0) null r16 null:0 0x0 0x04403580 // wr:1+0, rd:0; load_block2d.ugm.d8.a64 // $12", 64,
         {"prefetches": 1}),
        ("send.ugm (1|M0) r2 r246 null:0 0x0 0x0214031F {$9} // wr:1+0, rd:1; fence.ugm.none.local", 64, {}),
        ("send.gtwy (1|M0) null r255 null:0 0x0 0x02 {EOT} // wr:1+0, rd:0; end of thread // $28", 64, {}),
        ("add (16|M0) r1.0<1>:d r2.0<1;1,0>:d r3.0<1;1,0>:d", 64, {}),
    ],
)  # fmt: skip
def test_messages(text: str, grf: int, moved: dict[str, int]) -> None:
    assert messages.traffic(line(text), grf) == messages.Traffic(**moved)


class TestOverflow:
    """A block load into a variable that is too small for it is an error."""

    DECLARATIONS = """\
//.declare V0050 (58)  rf=r size=512 type=d align=32 words (r40.0)
//.declare V0051 (59)  rf=r size={} type=w align=32 words (r60.0)
//.declare V0052 (60)  rf=r size=8 type=uq align=4 words (r60.3)
"""

    def kernel(self, size: int) -> assembly.Kernel:
        return assembly.parse(OLDER.replace("//.instCount", self.DECLARATIONS.format(size) + "//.instCount"))

    def test_fits(self) -> None:
        assert overflow.overflows(self.kernel(1024), 64) == []
        assert overflow.overflows(assembly.parse(OLDER), 64) == []  # no sizes are known

    def test_too_small(self) -> None:
        (sentence,) = overflow.overflows(self.kernel(512), 64)
        assert "writes 1024 bytes from r60 on" in sentence
        assert "a variable of 512" in sentence
        with pytest.raises(IsaError, match="wrong code of 1 block loads"):
            analysis.analyse(Compiled(self.kernel(512), 0), HPC)

    def test_into_a_part(self) -> None:
        """A load into the rest of a variable that begins before the load's registers."""
        text = OLDER.replace("r60:16", "r44:4").replace("//.instCount", self.DECLARATIONS + "//.instCount")
        assert overflow.overflows(assembly.parse(text), 64) == []
        (sentence,) = overflow.overflows(assembly.parse(text.replace("r44:4", "r46:4")), 64)
        assert "a variable of 128" in sentence


class TestAnalysis:
    def compiled(self, text: str) -> Compiled:
        return Compiled(assembly.parse(text), 0)

    def test_of_a_filler(self) -> None:
        """A DPAS of a register with itself takes time, but its product is not used."""
        filler = "        dpas.8x8 (16|M0) r10:d null:d r10:ub r10.0:b {Atomic} // $8\n"
        first = OLDER.index("        dpas.8x8")
        a = analysis.analyse(self.compiled(OLDER[:first] + filler + OLDER[first:]), HPC, tile=(16, 16))
        assert (a.k, a.operations, a.count.number[Pipe.XMX]) == (64, 4 * 8 * 16 * 32, 5)
        assert (a.prediction.bound, a.prediction.utilisation) == ("XMX", 4 / 5)
        for other in (
            "r10:d r10:d r10:ub r10.0:b",
            "r10:d null:d r10:ub r1.0:b",
            "r10:d null:d r100:ub r10.0:b",
        ):
            change = filler.replace("r10:d null:d r10:ub r10.0:b", other)
            with pytest.raises(IsaError, match="no whole steps"):
                analysis.analyse(self.compiled(OLDER[:first] + change + OLDER[first:]), HPC, tile=(16, 16))

    def test_of_a_group(self) -> None:
        a = analysis.analyse(self.compiled(OLDER), HPC, 128)
        assert (a.k, a.trips, a.group) == (64, 2, True)
        assert a.count.number[Pipe.XMX] == 8
        assert a.count.number[Pipe.FLOAT] == 4
        assert a.count.number[Pipe.INT] == 2 * 2 + 2
        assert a.moved.loaded == 2 * (8 + 16) * 64 + 2 * 16
        assert a.operations == 2 * 4 * 8 * 16 * 32

    @pytest.mark.parametrize(
        ("change", "group", "words"),
        [
            (("numGRF=256", "numGRF=96"), 0, "96 registers"),
            (("numGRF=256", "numGRF=256"), 100, "100 elements"),
        ],
    )
    def test_refusals(self, change: tuple[str, str], group: int, words: str) -> None:
        compiled = self.compiled(OLDER.replace(*change))
        with pytest.raises(IsaError, match=words):
            analysis.analyse(compiled, HPC, group)


class TestModel:
    def test_is_the_documents_peak(self) -> None:
        """The operations of an Xe core in a cycle, with DPAS of 8 rows. A multiply-add is two
        operations.
        """
        peak = {
            family.name: [
                2 * 8 * family.sub_group * depth * family.xve // (8 * family.dpas_row_cycles)
                for depth in (16, 32)
            ]
            for family in (HPG, HPC, XE2, XE3)
        }
        assert peak == {
            "Xe-HPG": [2048, 4096],
            "Xe-HPC": [4096, 8192],
            "Xe2-HPG": [2048, 4096],
            "Xe3-LPG": [2048, 4096],
        }

    # The B580 record's counters (10^9), and its TFLOPS with and without `-noschedule`. The roof is
    # 118.8 TFLOPS.
    RECORD = (
        (163.53, 178.80, 105.91, 28, 51),
        (136.89, 125.70, 105.78, 44, 63),
        (110.78, 125.84, 105.91, 47, 66),
        (79.55, 77.85, 105.91, 59, 75),
        (92.79, 90.89, 105.91, 55, 69),
        (49.70, 48.22, 106.75, 78, 83),
    )

    @pytest.mark.parametrize(("alu0", "alu1", "alu2", "slow", "fast"), RECORD)
    def test_brackets_the_record(self, alu0: float, alu1: float, alu2: float, slow: int, fast: int) -> None:
        """The model's roof is above both measurements, and its `in turn` is between them."""
        number = dict.fromkeys(Pipe, 0)
        busy = dict.fromkeys(Pipe, 0.0)
        busy |= {Pipe.FLOAT: alu0, Pipe.INT: alu1, Pipe.XMX: alu2 * XE2.dpas_row_cycles}
        found = model.predict(model.Count(number, busy, busy[Pipe.XMX]), messages.Traffic(), XE2)
        roof = 2.9 * 20 * 8 * 256 / 1000
        assert found.utilisation * roof > fast
        assert slow < found.serial * roof < fast

    def test_unknown_device(self) -> None:
        with pytest.raises(IsaError, match="'xyz' is not in the model"):
            model.family_of("xyz")


# ---- specialisation constants


def module_of(*instructions: tuple[int, ...]) -> bytes:
    """A module of the instructions (opcode, operands..), which need not make sense otherwise."""
    words = [0x07230203, 0x00010200, 0, 100, 0]
    for opcode, *operands in instructions:
        words += [(len(operands) + 1) << 16 | opcode, *operands]
    return struct.pack(f"<{len(words)}I", *words)


def test_constants_change_and_nothing_else() -> None:
    module = [
        (71, 7, 1, 3),  # OpDecorate %7 SpecId 3
        (71, 8, 1, 4),
        (71, 9, 44, 5),  # a decoration other than SpecId
        (50, 1, 7, 10),  # %7 = OpSpecConstant %1 10
        (50, 1, 9, 11),  # without a SpecId
        (49, 2, 8),  # %8 = OpSpecConstantFalse %2
        (43, 1, 12, 13),  # OpConstant
    ]
    wanted = [*module]
    wanted[3] = (50, 1, 7, 0xFFFFFFFF)
    wanted[5] = (48, 2, 8)  # OpSpecConstantTrue
    changed = specialised(module_of(*module), {3: 0xFFFFFFFF, 4: 1, 5: 99, 1000: 7})
    assert changed == module_of(*wanted)
    assert specialised(module_of(*module), {}) == module_of(*module)


def test_constants_of_a_kernel() -> None:
    """Every constant of a row's module is one word, and setting it changes only that word."""
    md = zemm.MemoryDesc((64, 64), "f32")
    pd = zemm.MatmulPrimitiveDesc(zemm.Engine("cpu"), md, md, md)
    module = pd.modules()[0]
    known = set(spec_ids(module.spirv).values())
    assert set(module.constants) <= known  # drivers refuse others
    for spec_id in known:
        both = [specialised(module.spirv, {spec_id: value}) for value in (0x1234, 0x4321)]
        different = [a != b for a, b in zip(*(memoryview(m).cast("I") for m in both), strict=True)]
        assert sum(different) == 1
    assert len(known) > 5


# ---- the list of rows

XE_ROW = "ZEMM_XE_MATMUL(int8, 32, 64, 64, xe_int8, 16, 4, 8, 256, xe_hpc, int8, dpas_on<block_2d>)"
ANY_ROW = "ZEMM_MATMUL(any, 8, 1, 16, generic, 8, 1, 16, 0, any, f32, plain, on_any)"
KERNELS = ROOT / "src" / "kernels"


def list_of(folder: Path, *lines: str) -> subprocess.CompletedProcess[str]:
    """kernels.json of these rows. The real kernels.def's comments come first, because they name the
    columns.
    """
    comments = re.findall(r"(?m)^//.*$", (KERNELS.parent / "lists" / "kernels.def").read_text())
    definition = folder / "kernels.def"
    definition.write_text("\n".join([*comments, *lines, ""]))
    return captured(
        [sys.executable, KERNELS / "build_kernels.py", "json", definition, folder / "kernels.json"]
    )


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (ANY_ROW.replace(", plain", ""), "ZEMM_MATMUL has 12 values for 13 columns"),
        (ANY_ROW.replace("ZEMM_MATMUL", "ZEMM_NEW_MATMUL"), "ZEMM_NEW_MATMUL is not in MACROS"),
        (ANY_ROW.replace("on_any", "on<a b>"), "supports is neither"),
        (ANY_ROW + " // a remark", "1 rows cannot be read"),
        (XE_ROW, "two have the same name"),
    ],
)
def test_rows_that_the_build_refuses(tmp_path: Path, line: str, words: str) -> None:
    done = list_of(tmp_path, XE_ROW, line)
    assert done.returncode
    assert words in done.stderr
    assert not (tmp_path / "kernels.json").exists()


# ---- native binaries


@pytest.mark.parametrize("cut", [0, 4, 63, 64, 100])
def test_damaged_binary(cut: int, tmp_path: Path) -> None:
    path = tmp_path / "k.bin"
    path.write_bytes(elf({".text.matmul": bytes(96)})[:cut])
    assert binary.sections(path) == {}


# ---- the compiler


def compiler(folder: Path, body: str) -> Compiler:
    """A stand-in for ocloc that is called COMMAND INPUT.spv DEVICE FOLDER OPTIONS."""
    path = folder / "compiler"
    path.write_text(f"#!/bin/bash\n{body}\n")
    path.chmod(0o755)
    return Compiler(str(path))


def compiled(folder: Path, *dumps: str, code: bytes = b"") -> Compiled:
    """The kernel of a compiler that leaves these dumps, and a binary with this code if there is some."""
    for number, dump in enumerate(dumps):
        (folder / f"{number}.txt").write_text(dump)
    (folder / "binary").write_bytes(elf({".text.matmul": code, ".ze_info": b"kernels:\n"}))
    copies = [f'cp "{folder}/{n}.txt" "$3/k_{n}.asm"' for n in range(len(dumps))]
    copies += [f'cp "{folder}/binary" "$3/k.bin"'] if code else []
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return compiler(folder, "\n".join(copies)).run(Path("k.spv"), "pvc", "", out, "matmul")


def test_dump_that_spills_less(tmp_path: Path) -> None:
    """If a compiler tries a second time, it leaves two dumps."""
    worse = OLDER.replace("//.instCount", "//.spill size 640\n//.instCount")
    for dumps in ((worse, OLDER), (OLDER, worse)):
        assert compiled(tmp_path, *dumps).kernel.spill == 0


def test_dump_of_the_binary(tmp_path: Path) -> None:
    """Of two dumps the one counts that has as many bytes of code as the binary, even if it spills."""
    longer = OLDER.replace("//.instCount", "//.spill size 640\n//.instCount")
    longer = longer.replace("// B004", 40 * "        nop\n" + "// B004")
    for size, spill in ((16 * 21 - 8 * 4 + 112, 0), (16 * 61 - 8 * 4 + 112, 640)):
        assert compiled(tmp_path, OLDER, longer, code=bytes(size)).kernel.spill == spill


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("echo 'error: undefined f' >&2; exit 3", "returned 3: .*error: undefined f"),
        ("exit 0", "left no assembly"),
        ('echo hello >"$3/k.asm"', "no line //.kernel"),
    ],
)
def test_failing_compiler(body: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(IsaError, match=sentence):
        compiler(tmp_path, body).run(Path("k.spv"), "pvc", "", tmp_path, "matmul")


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(IsaError, match="there is no ocloc"):
        Compiler()
    with pytest.raises(IsaError, match="cannot be executed"):
        Compiler("no-such-compiler").run(Path("k.spv"), "pvc", "", tmp_path, "matmul")


def test_one_failure_leaves_the_others_alone() -> None:
    def fail(_: Path) -> dict[str, int]:
        raise IsaError("no loop")

    jobs = [cli.Job("k", "p", "bmg", fail), cli.Job("k", "p", "pvc", lambda _: {"grf": 256})]
    outcome = cli.judge(jobs)
    assert outcome.failures == ["k, p, bmg: no loop"]
    assert outcome.figures == [{"kernel": "k", "problem": "p", "device": "pvc", "grf": 256}]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("--row matmul_nothing", "has no row 'matmul_nothing'"),
        ("--device xyz", "'xyz' is not in the model"),
        ("--device znver4,pvc", "'pvc' is none of the CPUs"),
    ],
)
def test_wrong_command_lines(arguments: str, sentence: str) -> None:
    done = captured([sys.executable, str(ROOT / "tests/isa/judge"), *shlex.split(arguments)], timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("judge: ")
    assert sentence in done.stderr
