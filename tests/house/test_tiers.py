# SPDX-License-Identifier: Apache-2.0
"""The quick tier covers each row, type and attribute, and --full-only runs the rest of --full."""

import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache

import pytest
from support_kernel_problems import PROBLEMS
from support_process import captured
from support_tiers import facts, takes
from support_tree import ROOT
from zemm._library.library import names_of
from zemm._library.lists import types_for

pytestmark = pytest.mark.xdist_group("tiers")  # they share what is collected

KERNELS = ROOT / "tests" / "kernels"
Pair = tuple[str, str]


@cache
def collected(*arguments: str) -> list[str]:
    """Ids of tests, as pytest itself selects them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if "::" in line]


@cache
def quick_pairs() -> set[Pair]:
    """The pairs of a row and a problem that test_kernels.py::test_row has in the quick tier."""
    ids = collected(str(KERNELS / "test_kernels.py"))
    return {pair for text in ids for pair in re.findall(r"::test_row\[(matmul_\w+)-(.+)\]$", text)}


def taken(pairs: Iterable[Pair]) -> set[Pair]:
    return {(row, name) for row, name in pairs if takes(row, PROBLEMS[name])}


def test_each_type_is_met() -> None:
    """The types of src, weights and dst. Matmul takes no tensor with another type of the list."""
    met = {fact for _, name in taken(quick_pairs()) for fact in facts(PROBLEMS[name])}
    types = {text.split()[1] for text in met if text.startswith(("src ", "wei ", "dst "))}
    not_computed = {"undef", "boolean", "max", "s64", "f64"}
    assert types == set(names_of("data_type")) - not_computed - {"e8m0", "f4_e3m0"}
    scales = {text.split()[1] for text in met if text.split()[0].endswith("_scale")}
    assert scales == set(types_for("scale"))


# The setters of attributes that change what a matmul computes, each with words of a fact that shows
# it.
ATTRIBUTES = {
    "set_scales": "src_scale",
    "set_zero_points": "wei_zp",
    "set_offsets": "wei_offset",
    "set_precomputed_reductions": "reduction_group",
    "set_fpmath_mode": "fpmath",
    "set_reduced_range": "reduced_range",
    "set_scratchpad_mode": "scratchpad",
    "set_post_ops": "binary",
}
# Attributes that a matmul refuses, or that change nothing, have tests of their own.
OTHERS = {
    "set_accumulation_mode", "set_deterministic", "set_dropout", "set_rounding", "set_saturation",
    "set_src_dyn_quant_params",
}  # fmt: skip


def test_each_attribute_is_met() -> None:
    header = (ROOT / "include" / "zemm" / "zemm.h").read_text()
    setters = set(re.findall(r"\bzemm_primitive_attr_(set_\w+?)(?:_v\d|_mask)?\(", header))
    assert setters == set(ATTRIBUTES) | OTHERS
    met = {fact for _, name in taken(quick_pairs()) for fact in facts(PROBLEMS[name])}
    for setter, word in ATTRIBUTES.items():
        assert any(fact.startswith(word) for fact in met), setter
    for kind in ("scale", "zp"):
        assert {text.split()[0] for text in met if f"_{kind} " in text} == {
            f"{name}_{kind}" for name in ("src", "wei", "dst")
        }
    assert {text.split()[0] for text in met if text.endswith((" f32", " bf16"))} >= {
        "sum",
        "eltwise",
        "prelu",
    }
    # Each algorithm runs, on the row that the device chooses and on others.
    ids = "\n".join(collected(str(KERNELS / "test_kernels.py")))
    for kind in ("eltwise", "binary"):
        for alg in names_of("alg_kind"):
            if alg.startswith(f"{kind}_") and alg not in ("binary_select", "binary_mul_inplace"):
                assert f"::test_{kind}[{alg.removeprefix(f'{kind}_')}" in ids, alg
    assert "::test_select_passes_specials" in ids
    assert "::test_row" in "\n".join(collected(str(KERNELS / "test_in_place.py")))


@pytest.mark.full
def test_full_only_is_what_the_quick_tier_leaves_out() -> None:
    file = str(KERNELS / "test_kernel_tails.py")
    quick, rest, full = collected(file), collected("--full-only", file), collected("--full", file)
    assert sorted(quick + rest) == sorted(full)
    assert quick
    assert len(rest) > len(quick)


@pytest.mark.full
def test_parts_are_all_of_it() -> None:
    """Each case has one turn. What takes long is in each part."""
    files = ["tests/kernels/test_kernel_tails.py", "tests/install/test_editable.py"]
    full = collected("--full", *files)
    parts = [collected("--full", f"--part={turn}/3", *files) for turn in range(3)]
    for case in full:
        assert sum(case in part for part in parts) == (3 if "editable" in case else 1)
    assert all(len(full) / 4 < len(part) < len(full) / 2 for part in parts)


@pytest.mark.parametrize("part", ["2/2", "-1/2", "1", "a/b", "1/2/3"])
def test_parts_that_are_none(part: str) -> None:
    done = captured([sys.executable, "-m", "pytest", f"--part={part}", "--collect-only"], cwd=ROOT)
    assert "argument --part: invalid part value" in done.stderr
