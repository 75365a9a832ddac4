# SPDX-License-Identifier: Apache-2.0
"""The walk over the command line: the order of cases, settings, batch files, matching, warnings."""

from pathlib import Path

import pytest
from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import batch
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand

CASE_FILES = sorted(path for path in batch.packaged_folders()[0].iterdir() if not path.name.startswith("."))


def cases(*arguments: str) -> list[Case]:
    return [job.case for job in expand(["--matmul", *arguments])[0]]


def test_the_first_loop_is_the_outermost() -> None:
    found = cases(
        "--dt=f32,f16",
        "--stag=ab,ba",
        "--attr-post-ops=,relu",
        "--bia-dt=undef,f32",
        "--bia_mask=1,2",
        "2x2:2x2",
    )
    rows = [(c.dt[0], c.tags[0], len(c.attributes.post_ops), c.bia_dt, c.bia_mask) for c in found]
    assert len(rows) == 2 * 2 * 2 * 3
    assert rows[:4] == [
        ("f32", "ab", 0, "undef", 2), ("f32", "ab", 0, "f32", 1), ("f32", "ab", 0, "f32", 2),
        ("f32", "ab", 1, "undef", 2),
    ]  # fmt: skip
    assert rows[6][:2] == ("f32", "ba")
    assert rows[12][0] == "f16"


def test_settings_hold_until_reset() -> None:
    found = cases("--dt=f16", "1x1:1x1", "--stag=ab", "2x2:2x2", "--reset", "3x3:3x3")
    assert [(c.dt[0], c.tags[0]) for c in found] == [("f16", "any"), ("f16", "ab"), ("f32", "any")]


def test_batch_file(tmp_path: Path) -> None:
    (tmp_path / "inner").write_text("--dt=f16 # nothing here 9x9:9x9\n2x2:2x2\n")
    (tmp_path / "outer").write_text('1x1:1x1_n"a"\n--batch=inner\n--attr-post-ops=relu,\\\n  tanh\n3x3:3x3')
    found = cases(f"--batch={tmp_path / 'outer'}", "4x4:4x4")
    assert [c.problem.m for c in found] == [1, 2, 3, 3, 4, 4]
    assert [c.dt[0] for c in found] == ["f32", "f16", "f16", "f16", "f16", "f16"]
    assert found[0].problem.name == '"a"'
    assert str(found[3].attributes.post_ops[0]) == "tanh"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("--dt=f32,\\\n  f16 1x1:1x1", ["--dt=f32,f16", "1x1:1x1"]),
        ("--dt=f32, \\\n  f16, \\\n  bf16", ["--dt=f32,f16,bf16"]),
        ("--dt=f32, \\\n# a comment between\n  f16", ["--dt=f32,f16"]),
        ("\\\n--dt=f32\\", ["--dt=f32"]),
    ],
    ids=["at the end of a token", "alone", "comment", "at the ends of the file"],
)
def test_continued_lines(tmp_path: Path, text: str, tokens: list[str]) -> None:
    (tmp_path / "file").write_text(text)
    assert batch.tokens(tmp_path / "file") == tokens


def test_unreadable_batch_file(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--batch=no_such_file: cannot open"):
        expand(["--matmul", "--batch=no_such_file"])
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match="cannot read"):
        expand(["--matmul", f"--batch={tmp_path / 'binary'}"])
    for i in range(40):
        (tmp_path / str(i)).write_text(f"--batch={i + 1}")
    with pytest.raises(UsageError, match="nested deeper"):
        expand(["--matmul", f"--batch={tmp_path / '0'}"])


@pytest.mark.parametrize("name", ["loop", "./loop", "link"])
def test_a_file_that_reads_itself(tmp_path: Path, name: str) -> None:
    """Twice at each level would be 2^32 times."""
    (tmp_path / "link").symlink_to("loop")
    (tmp_path / "loop").write_text("--batch=other\n--batch=other")
    (tmp_path / "other").write_text(f"1x1:1x1\n--batch={name}")
    with pytest.raises(UsageError, match=r"read by itself: \S+/loop -> \S+/other -> \S+/loop"):
        expand(["--matmul", f"--batch={tmp_path / 'loop'}"])


@pytest.mark.full
def test_files_that_multiply(tmp_path: Path) -> None:
    for i in range(30):
        (tmp_path / str(i)).write_text(f"--batch={i + 1}\n--batch={i + 1}")
    (tmp_path / "30").write_text("1x1:1x1")
    with pytest.raises(UsageError, match="more than 10000 files"):
        expand(["--matmul", f"--batch={tmp_path / '0'}"])


def test_an_error_names_its_file(tmp_path: Path) -> None:
    (tmp_path / "bad").write_text("--dt=f17")
    with pytest.raises(UsageError, match=r"--dt.*f17.*in --batch=.*bad"):
        expand(["--matmul", f"--batch={tmp_path / 'bad'}"])


def test_match_ends_the_expansion_of_one_problem() -> None:
    found = cases("--dt=f32,f16,f32", "--match=--dt=f16", "2x2:2x2")
    assert found == []
    found = cases("--match=.*NCF.*", '1x1:1x1_n"NCF"', "2x2:2x2", '3x3:3x3_n"NCF:2"')
    assert [c.problem.m for c in found] == [1, 3]
    assert len(cases(r"--match=^1\{1\}x1:1x1(*$", "1x1:1x1")) == 1


def test_match_does_not_see_global_options() -> None:
    """As in benchdnn, whose cases have their own options only."""
    assert cases("--canonical=true", "--match=--canonical", "1x1:1x1") == []
    assert cases("--match=--matmul", "1x1:1x1") == []


def test_parallel_creation_has_user_scratchpads() -> None:
    for knobs in (["--mode-modifier=P"], ["--mode=F", "--engine=gpu"], ["--mode=F"]):
        case = cases(*knobs, "--matmul", "1x1:1x1")[0]
        assert case.attributes.scratchpad == "user"
        assert "--attr-scratchpad" not in case.full_repro()
        own = cases(*knobs, "--matmul", "--attr-scratchpad=library", "1x1:1x1")[0]
        assert own.attributes.scratchpad == "library"


OPEN_END = "matmul driver: WARNING: No problem found for a given option!"


def test_warnings() -> None:
    assert expand(["--matmul", "--dt=f32"])[1] == [OPEN_END]
    assert expand(["--matmul"])[1] == [OPEN_END]
    assert "--bia_dt" in expand(["--matmul", "--bia_dt=f32", "1x1:1x1"])[1][0]
    assert expand(["--matmul", "1x1:1x1"])[1] == []


def test_the_end_of_a_batch_file_may_be_open(tmp_path: Path) -> None:
    """As in benchdnn the last argument of each file counts."""
    (tmp_path / "open").write_text("1x1:1x1 --dt=f16")
    (tmp_path / "outer").write_text(f"--batch={tmp_path / 'open'}")
    assert expand(["--matmul", f"--batch={tmp_path / 'outer'}"])[1] == [OPEN_END]
    assert expand(["--matmul", f"--batch={tmp_path / 'outer'}", "2x2:2x2"])[1] == [OPEN_END]
    (tmp_path / "closed").write_text("1x1:1x1")
    assert expand(["--matmul", "--dt=f16", f"--batch={tmp_path / 'closed'}"])[1] == []


def test_correctness_needs_values() -> None:
    for knobs in (["--mode-modifier=M"], ["--mode=R", "--mode=C"]):
        with pytest.raises(UsageError, match="--mode-modifier=M leaves tensors without values"):
            expand([*knobs, "--matmul", "1x1:1x1"])
    assert len(cases("--mode=R", "--mode-modifier=", "--mode=C", "1x1:1x1")) == 1


@pytest.mark.parametrize(
    ("arguments", "exit_code", "words"),
    [
        ("", 1, "no arguments"),
        ("--conv 1x1:1x1", 2, "benchdnn's driver --conv is none of zemm's: give --matmul or --ip"),
        ("--reorder", 2, "driver --reorder is none of zemm's"),
        ("--matmul 1x1:1x1 --conv", 2, "--conv is none of zemm's, and a command line is for one"),
        ("1x1:1x1", 1, "1x1:1x1"),
        ("--dt=f16 --matmul 1x1:1x1", 1, "comes before --matmul"),
        ("--matmul --dtt=f32", 2, "err: unknown option '--dtt'; did you mean --dt, --dtag?"),
        ("--matmul --stagg=ab", 2, "unknown option '--stagg'; did you mean --stag, --dtag, "),
        ("--matmul --wtaag=ab", 2, "unknown option '--wtaag'; did you mean --wtag, --dtag, --stag, "),
        ("--matmul --attr-zero-pointz=src", 2, "did you mean --attr-zero-points, --attr-dropout, "),
        ("--matmul --q=1", 2, "err: unknown option '--q'"),
        ("--matmul --inplace=true", 2, "unknown option '--inplace'"),
        ("--matmul --dt", 2, "option '--dt' must have the form --dt=VALUE"),
        ("--matmul --reset=1", 2, "option '--reset=1' must have the form --reset"),
        ("--matmull", 1, "unknown driver or global option '--matmull'; did you mean --matmul?"),
        ("--enginee=cpu --matmul", 1, "did you mean --engine?"),
        ("--matmul --dt=f23", 1, "--dt: unknown data type 'f23'; did you mean f32?"),
        ("--matmul --dt=quadruple", 1, "--dt: unknown data type 'quadruple' (known: f32, "),
        ("--matmul --wtag=abb", 2, "--wtag: unknown format tag 'abb'; did you mean ab?"),
        ("--matmul --attr-scales=wei:per_co", 1, "unknown mask or policy 'per_co'; did you mean per_oc?"),
        ("--matmul --attr-scales=weii:common:2", 1, "unknown argument 'weii'; did you mean wei?"),
        ("--matmul --attr-post-ops=eltwise_relo", 1, "unknown post-op 'relo'; did you mean relu?"),
        ("--matmul --attr-post-ops=binary_mull:f32", 1, "unknown post-op 'mull'; did you mean mul?"),
        ("--matmul --attr-fpmath=stritc", 1, "unknown value 'stritc'; did you mean strict?"),
        ("--matmul --stag=cabde", 2, "cabde"),
        ("--matmul --dtag=cabde --allow-enum-tags-only=0", 2, "--allow-enum-tags-only=0 before it"),
        ("--allow-enum-tags-only=0 --allow-enum-tags-only= --matmul --wtag=cabde", 2, "cabde"),
        ("--matmul --attr-precomputed-reductions=src:per_tensor:s32", 1, "precomputed-reductions"),
        ("--matmul hello", 1, "hello"),
        ("--matmul --strides=4x1:: --stag=ab 2x2:2x2", 1, "ERROR: matmul driver"),
        ("--matmul --strides=4x1x1:: 2x2:2x2", 1, "4x1x1"),
        ("--matmul 2x2", 1, "ERROR: matmul driver: problem '2x2'"),
        ("--matmul 2:2", 1, "ERROR: matmul driver: problem '2:2'"),
        ("--matmul 2x2:2x2:2x2", 1, "ERROR: matmul driver: problem '2x2:2x2:2x2'"),
        ("--matmul --dt=f32:f16 2x2:2x2", 1, "f32:f16"),
        ("--matmul 7x2:2x2x3", 1, "problem '7x2:2x2x3': weights have 3 dims, src has 2"),
        (r"--matmul --match=\( 2x2:2x2", 1, "--match"),
        ("--matmul --repeats-per-prb=2000000000 2x2:2x2", 1, "more than 1000000 cases"),
        ("--mode=X --matmul", 1, "--mode"),
        ("--mode=CP --matmul", 1, "--mode"),
        ("-x --matmul", 2, "-x"),
        ("--ip ic3", 1, "ERROR: ip driver: problem 'ic3': oc is missing or 0"),
        ("--ip ic0oc3", 1, "ic is missing or 0"),
        ("--ip mbic3oc4", 1, "mb: '' is not an integer"),
        ("--ip ic-3oc4", 1, "ic: -3 is outside of [0, "),
        ("--ip ic3id2ih3oc4", 1, "with id both ih and iw are given, or none of them"),
        ("--ip ic3kh4oc4", 1, "is not of the form mbXicXidXihXiwXocX"),
        ("--ip 2x3:3x4", 1, "'2x3:3x4' is not an option or a problem"),
        ("--ip --dt=f32:f32 ic3oc4", 1, "ERROR: ip driver: --dt=f32:f32: 2 data types"),
        ("--ip --dir=FWD", 1, "--dir: unknown value 'FWD'"),
        ("--ip --mb=-1", 1, "--mb: -1 is outside"),
        ("--ip --strides=1x1::", 2, "'--strides=1x1::' is an option of --matmul, not of --ip"),
        ("--ip --peer-dt=f32", 2, "is an option of --matmul"),
        ("--matmul --dir=FWD_B", 2, "'--dir=FWD_B' is an option of --ip, not of --matmul"),
        ("--ip --matmul", 1, "--matmul after --ip: a command line is for one driver"),
        ("--dir=FWD_B --ip ic3oc4", 1, "comes before --matmul or --ip"),
        ("--ip --dirr=FWD_B", 2, "unknown option '--dirr'; did you mean --dir"),
        ("--ip --attr-post-ops=add:f32:3:grouped ic3oc4", 1, "ip driver: --attr-post-ops"),
        ("--peer=mkl --matmul 2x2:2x2", 1, "onednn, openvino, onnxruntime, torch, autoround, ggml"),
        (
            "--matmul --peer-dt=mkl=f32 31x256:256x64",
            1,
            "onednn, openvino, onnxruntime, torch, autoround, ggml",
        ),
        ("--matmul --peer-dt=torch=int8 2x2:2x2", 1, "--peer-dt"),
        ("--peak=2 --matmul 2x2:2x2", 1, "--peak"),
        ("--matmul --peer-dt=f32:f32 2x2:2x2", 1, "--peer-dt=f32:f32"),
        ("--matmul --peer-dt= 2x2:2x2", 1, "--peer-dt= has no value"),
        ("--matmul --peer-stag= 2x2:2x2", 1, "--peer-stag= has no value"),
        ("--matmul --peer-wtag= 2x2:2x2", 1, "--peer-wtag= has no value"),
        ("--matmul --peer-dtag= 2x2:2x2", 1, "--peer-dtag= has no value"),
        ("--matmul --peer-bia-dt= 2x2:2x2", 1, "--peer-bia-dt= has no value"),
        ("--matmul --peer-dt=f32,torch= 2x2:2x2", 1, "--peer-dt= has no value"),
        ("--matmul --peer-dt=f32, 2x2:2x2", 1, "--peer-dt= has no value"),
        ("--matmul --peer-dt=f32,f16 2x2:2x2", 1, "all peers can have one value only"),
        ("--matmul --peer-dt=torch=f32,torch=f16 2x2:2x2", 1, "torch can have one value only"),
        ("--matmul --peer-dt=int8 2x2:2x2", 1, "--peer-dt"),
        ("--matmul --peer-wtag=nothing 2x2:2x2", 2, "--peer-wtag"),
        ("--matmul --peer-attr-scales=wei 2x2:2x2", 1, "--peer-attr-scales"),
        ("--matmul --quantize=s8 2x2:2x2", 1, "--quantize"),
        ("--matmul --quantize=f32 2x2:2x2", 1, "has f32 for src"),
        ("--matmul --quantize=f32 --dt=s8:u8:f32 2x2:2x2", 1, "none for it"),
    ],
)
def test_errors(arguments: str, exit_code: int, words: str) -> None:
    with pytest.raises(UsageError) as error:
        expand(arguments.split())
    assert error.value.exit_code == exit_code
    assert words in str(error.value)


@pytest.mark.parametrize("path", CASE_FILES, ids=lambda path: path.name)
def test_repro_lines_of_case_files_give_the_same_cases(path: Path) -> None:
    driver = "--ip" if path.name.startswith("test_ip_") else "--matmul"
    for job in expand([driver, f"--batch={path}"])[0]:
        case = job.case
        assert expand(case.full_repro().split())[0][0].case == case


@pytest.mark.parametrize(
    ("line", "repro"),
    [
        # A mode's own settings are in the line only if benchdnn prints them.
        ("--mode=R --matmul 2x3:3x4", "--mode=R --mode-modifier=M --matmul 2x3:3x4"),
        ("--mode=F --matmul 2x3:3x4", "--mode=F --matmul 2x3:3x4"),
        ("--mode=S --matmul 2x3:3x4", "--mode=S --matmul 2x3:3x4"),
        ("--engine=gpu --mode=P --matmul 2x3:3x4",
         "--mode=P --mode-modifier=M --engine=gpu --matmul 2x3:3x4"),
        ("--mode-modifier=m --mode-modifier=p --mode=I --matmul 2x3:3x4",
         "--mode=I --mode-modifier=PM --matmul 2x3:3x4"),
        ("--fix-times-per-prb=7 --mode=S --mode=P --mode-modifier= --matmul 2x3:3x4",
         "--mode=P --fix-times-per-prb=1 --matmul 2x3:3x4"),
        ("--max-ms-per-prb=1e1 --matmul 2x3:3x4", "--max-ms-per-prb=10 --matmul 2x3:3x4"),
        ("--mode=B --matmul --attr-deterministic=0 2x3:3x4",
         "--mode=B --matmul --attr-deterministic=false 2x3:3x4"),
        ("--matmul --attr-dropout=0.5:0:any:0:1 2x3:3x4", "--matmul --attr-dropout=0.5:0:any:0:1 2x3:3x4"),
        ("--matmul --attr-dropout=0.25:-3 2x3:3x4", "--matmul --attr-dropout=0.25:-3 2x3:3x4"),
        ("--matmul --attr-dropout=0:5:ab 2x3:3x4", "--matmul 2x3:3x4"),
        ("--cold-cache=wei+tlb:2G --mode=P --matmul --strides=8x1::16x1 --wtag=ba 2x3:3x4",
         "--mode=P --cold-cache=wei+tlb:2G --matmul --wtag=ba --strides=8x1::16x1 2x3:3x4"),
        ("--allow-enum-tags-only=0 --matmul --stag=cabde 1x2x3x4x5:1x2x3x5x4",
         "--allow-enum-tags-only=false --matmul --stag=cabde 1x2x3x4x5:1x2x3x5x4"),
        ("--matmul --attr-rounding-mode=wei:environment+dst:stochastic:5 2x3:3x4",
         "--matmul --attr-rounding-mode=dst:stochastic:5+wei:environment 2x3:3x4"),
        ("--mode=B --matmul --reset 1x1:1x1", "--mode=B --matmul 1x1:1x1"),
        ("--mode=B --matmul --attr-deterministic= 1x1:1x1", "--mode=B --matmul 1x1:1x1"),
        # Reductions alone are not printed.
        ("--matmul --attr-precomputed-reductions=src:per_tensor:s32:1x4 2x8:8x2", "--matmul 2x8:8x2"),
        ("--matmul --attr-precomputed-reductions=src:per_tensor:s32:1x4 --attr-fpmath=bf16 2x8:8x2",
         "--matmul --attr-precomputed-reductions=src:per_tensor:s32:1x4 --attr-fpmath=bf16 2x8:8x2"),
        ("--ip mb2ic4ih3iw3oc5", "--ip ic4ih3oc5"),
        ("--ip --dir=FWD_B --dt=bf16 --mb=7 ic4oc5_nx", "--ip --dt=bf16 mb7ic4oc5nx"),
        ("--mode=R --ip --dir=FWD_I --bia-dt=f16 --stag=axb --attr-post-ops=relu --impl=any ic4oc5",
         "--mode=R --mode-modifier=M --ip --dir=FWD_I --bia-dt=f16 --stag=axb --attr-post-ops=relu "
         "--impl=any ic4oc5"),
        ("--matmul --ctx-exe=auto:0 2x3:3x4", "--matmul --ctx-exe=auto:0:auto 2x3:3x4"),
        ("--global-skip-impl='a',b --matmul --impl=c 2x3:3x4", "--matmul --skip-impl=a,b 2x3:3x4"),
        ("--matmul --grouped=0:1:2 --encoding=csr+0.5::coo 2x3:3x4",
         "--matmul --encoding=csr+0.5::coo 2x3:3x4"),
    ],
)  # fmt: skip
def test_repro_lines(line: str, repro: str) -> None:
    (job,), _ = expand(line.split())
    assert job.case.full_repro() == repro
    assert expand(repro.split())[0][0].case.full_repro() == repro
