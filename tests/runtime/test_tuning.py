# SPDX-License-Identifier: Apache-2.0
"""Tuning files, and the choices in them: tests/c/matmul/test_tuning.cpp has the damaged ones."""

import os
import sys
from pathlib import Path

import pytest
import zemm
from support_calls import make_pd, run_exact
from support_cases import ANY, Problem
from support_process import captured
from support_rows import BY_NAME, CPU_ROWS, XE_ROWS
from zemm.benchdnn.run.contest import Turns
from zemm.tune import cli, search
from zemm.tune.choices import Choice, parts_of, rows_for, variants

GENERIC = "matmul_any_any_any_8x1x16_generic"
PROBLEM = Problem(f"{ANY} --dt=s8:u8:s32 --attr-zero-points=src:common:1 20x1500:1500x600")

# Prints the implementations of a matmul with weights of tag any, of the same with their layout, and
# of another matmul.
SCRIPT = """
import sys, zemm
engine = zemm.Engine("cpu")
md = lambda dims, tag: zemm.MemoryDesc(dims, "f32", tag=tag)
def pd(m, wei):
    return zemm.MatmulPrimitiveDesc(engine, md((m, 64), "ab"), wei, md((m, 32), "ab"))
any_ = pd(5, md((64, 32), "any"))
laid_out = pd(5, any_.query_md("weights_md"))
print("impl", any_.impl_info, laid_out.impl_info, pd(6, md((64, 32), "any")).impl_info)
print(any_.tuning())
"""


def implementations(tuning: Path | None = None, **variables: str) -> tuple[list[str], list[str], str]:
    """The implementations, the warnings, and the tuning file of a process."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("ZEMM_TUNING")}
    env |= {"ZEMM_VERBOSE": "warn", **variables} | ({"ZEMM_TUNING": str(tuning)} if tuning else {})
    done = captured([sys.executable, "-c", SCRIPT], env=env, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    (names,) = (line.split()[1:] for line in lines if line.startswith("impl "))
    text = done.stdout[done.stdout.index("zemm-tuning") :]
    return names, [line for line in lines if ",warn," in line], text


def test_a_file_chooses(tmp_path: Path) -> None:
    """A file changes the problems that it names, and no other; a file of another device none."""
    choice = f"{GENERIC}:rows=2"
    _, _, text = implementations(ZEMM_KERNEL=choice)
    assert (
        f"\n{choice} src:f32::blocked:ab::f0 wei:f32:a:any:::f0 dst:f32::blocked:ab::f0,,5x64:64x32\n" in text
    )
    file = tmp_path / "a.tuning"
    file.write_text(text)
    names, warnings, same = implementations(file)
    assert not warnings
    assert names[:2] == [GENERIC, GENERIC]
    assert names[2] != GENERIC
    assert same == text
    usual = [names[2]] * 3
    file.write_text(text.replace("device cpu, ", "device cpu, 1"))
    names, (warning,), _ = implementations(file)
    assert names == usual
    assert "has no choices for this device" in warning
    file.write_text(text.replace(":rows=2", ":rows=4000"))
    names, (warning,), _ = implementations(file)
    assert names == usual
    assert (
        f"the choice of ZEMM_TUNING is not used: {GENERIC}:rows=4000: {GENERIC} has tiles of at most"
        in warning
    )


def test_a_file_that_is_none(tmp_path: Path) -> None:
    names, (warning,), _ = implementations(tmp_path)
    assert GENERIC not in names
    assert f"ZEMM_TUNING: {tmp_path} is not used: it is no ordinary file" in warning


# ---- cuts


@pytest.mark.quick(cases=lambda row: row == GENERIC)
@pytest.mark.parametrize("row", CPU_ROWS)
def test_chosen_cuts(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    """Each cut gives the right result, and is another entry of the primitive cache."""
    monkeypatch.setenv("ZEMM_KERNEL", row)
    try:
        make_pd(PROBLEM)
    except NotImplementedError:
        return  # test_kernel_tails checks the reasons
    highest = min(8, BY_NAME[row].tile_m)
    cuts = ["", f":rows={highest - 1}", ":ranges=3", ":rows=3:ranges=2", f":rows={highest}:ranges=1"]
    if not BY_NAME[row].has_tiles:  # whose tiles have 32 rows or more
        cuts += [":rows=3:strip=2", ":rows=2:ranges=3:strip=10"]
    for cut in cuts:
        monkeypatch.setenv("ZEMM_KERNEL", row + cut)
        run_exact(PROBLEM)
        assert f"\n{row}{cut} " in make_pd(PROBLEM).tuning()


@pytest.mark.full
@pytest.mark.parametrize("row", XE_ROWS)
def test_chosen_splits(monkeypatch: pytest.MonkeyPatch, row: str) -> None:
    taken = 0
    for cut in ("", ":slices=2", ":slices=1", ":slices=2:ranges=3", ":strip=1"):
        monkeypatch.setenv("ZEMM_KERNEL", row + cut)
        try:
            make_pd(PROBLEM)
        except NotImplementedError:
            continue
        taken += 1
        run_exact(PROBLEM)
    assert taken != 1  # a row that takes the problem takes one of the cuts, too


@pytest.mark.parametrize(
    ("cut", "words"),
    [
        (":rows=9", "has tiles of at most 8 rows, not 9"),
        (":slices=2", "does not cut ranges of K into slices"),
        (":ranges=4000", "K of 1500 has "),
        (":strip=4", "M has 3 work-groups for "),
        (":rows", '"rows" is neither rows=, ranges=, slices= nor strip='),
    ],
)
def test_cuts_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, cut: str, words: str) -> None:
    monkeypatch.setenv("ZEMM_KERNEL", GENERIC + cut)
    with pytest.raises(NotImplementedError, match=words):
        make_pd(PROBLEM)


# ---- zemm-tune


def test_rows_and_variants(engine: zemm.Engine) -> None:
    names = rows_for("cpu", engine.features)
    assert GENERIC in names
    assert not set(names) & set(XE_ROWS)
    choice = Choice(GENERIC)
    assert [c.rows for c in variants(choice, "rows", 5)] == [5]
    assert parts_of(choice) == ("rows", "ranges", "strip")
    assert [c.rows for c in variants(choice, "rows", 40)] == [8]
    assert str(variants(choice, "ranges", 5)[1]) == f"{GENERIC}:ranges=2"


def test_noise_does_not_choose(monkeypatch: pytest.MonkeyPatch) -> None:
    """One comparison without a gain is enough to keep the usual kernel."""
    usual = search.Trial(None, "usual", "", lambda: None)
    other = search.Trial(Choice(GENERIC), GENERIC, "text", lambda: None)
    times = iter([])

    def alternate(runs: object, rounds: int, budget_ms: float) -> list[Turns]:
        a, b = next(times)
        return [Turns(usual.run, [a]), Turns(other.run, [b])]

    monkeypatch.setattr(search, "alternate", alternate)
    times = iter([(1.0, 0.5)] * 5)
    assert search.judged(usual, other, 1).tuning == "text"
    times = iter([(1.0, 0.5)] * 4 + [(1.0, 0.98)])
    assert search.judged(usual, other, 1).tuning == ""


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The program writes a file that the library takes, whatever it found."""
    monkeypatch.setattr(search, "GAIN", 10.0)  # any choice is good enough
    monkeypatch.setattr(search, "rows_for", lambda kind, features: [GENERIC])
    monkeypatch.setattr(search, "parts_of", lambda choice: ())
    file = tmp_path / "b.tuning"
    line = ["--matmul", "--wtag=any", "--stag=ab", "--dtag=ab", "5x64:64x32"]
    assert cli.main([f"--out={file}", "--budget=1", *line]) == 0
    assert str(file) in capsys.readouterr().out
    names, warnings, _ = implementations(file)
    assert not warnings
    has_choice = f"\n{GENERIC} src:f32" in file.read_text()
    assert (names[0] == GENERIC) == has_choice
    for wrong in ("--budget=0", "--budget=²", "--out=/nowhere/file", "--match=nothing"):
        assert cli.main([f"--out={file}", wrong, *line]) == 1
        assert capsys.readouterr().err.startswith("err: ")
    assert cli.main([f"--out={file}", "--log=/nowhere"]) == 1
