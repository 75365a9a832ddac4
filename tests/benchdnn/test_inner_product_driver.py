# SPDX-License-Identifier: Apache-2.0
"""`--ip`: the grammar, the order of cases, the reference by hand, and what is not for inner products."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support_driver import Capture, output
from zemm.benchdnn.data.reference import expected
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.grammar.inner_product import DIRECTIONS, InnerProduct, parse_inner_product
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.problem import check_is_plain
from zemm.benchdnn.run import execution

SMALL = "mb3ic4ih2iw3oc5"


def cases(*arguments: str) -> list[Case]:
    return [job.case for job in expand(["--ip", *arguments])[0]]


@pytest.mark.parametrize(
    ("token", "src", "wei", "text"),
    [
        ("ic16oc10", (2, 16), (10, 16), "ic16oc10"),
        ("mb2ic16oc10", (2, 16), (10, 16), "ic16oc10"),
        ("mb0_ic16_oc10", (0, 16), (10, 16), "mb0ic16oc10"),
        ("oc10iw3mb7ic16_", (7, 16, 3), (10, 16, 3), "mb7ic16iw3oc10"),
        ("ic16ih4oc10", (2, 16, 4, 4), (10, 16, 4, 4), "ic16ih4oc10"),
        ("ic16ih4iw4oc10", (2, 16, 4, 4), (10, 16, 4, 4), "ic16ih4oc10"),
        ("ic16ih4iw5oc10", (2, 16, 4, 5), (10, 16, 4, 5), "ic16ih4iw5oc10"),
        ("ic16id2oc10", (2, 16, 2, 2, 2), (10, 16, 2, 2, 2), "ic16id2oc10"),
        ("ic16id2ih2iw3oc10", (2, 16, 2, 2, 3), (10, 16, 2, 2, 3), "ic16id2ih2iw3oc10"),
        ("ic16id0ih0iw3oc10", (2, 16, 3), (10, 16, 3), "ic16iw3oc10"),
    ],
)
def test_descriptor(token: str, src: tuple[int, ...], wei: tuple[int, ...], text: str) -> None:
    problem = parse_inner_product(token)
    assert (problem.src, problem.wei, str(problem)) == (src, wei, text)
    assert problem.dst == (problem.m, problem.n) == (src[0], 10)
    assert problem.k == np.prod(src[1:])
    assert problem.ops == 2 * src[0] * 10 * problem.k


@given(st.lists(st.integers(1, 9), min_size=2, max_size=5), st.integers(1, 9), st.booleans())
def test_the_token_of_a_problem_means_it(src: list[int], oc: int, canonical: bool) -> None:
    problem = InnerProduct(tuple(src), (oc, *src[1:]), "x")
    assert parse_inner_product(problem.token(canonical)) == problem


def test_the_order_of_cases() -> None:
    found = cases("--dir=FWD_D,fwd_i", "--bia-dt=undef,f16", "--stag=ab,ba", "--mb=0,7", "mb3ic4oc5")
    rows = [(c.direction, c.bia_dt, c.tags[0], c.problem.m) for c in found]
    assert len(rows) == 16
    assert rows[:3] == [("FWD_D", "undef", "ab", 3), ("FWD_D", "undef", "ab", 7), ("FWD_D", "undef", "ba", 3)]
    assert rows[4] == ("FWD_D", "f16", "ab", 3)
    assert rows[8][0] == "FWD_I"


def test_directions_with_a_bias() -> None:
    """FWD_B and BWD_WB have one of f32, whatever --bia-dt says."""
    arguments = ["--ip", f"--dir={','.join(DIRECTIONS)}", "--bia-dt=f16", "ic4oc5", "mb3ic4oc5"]
    jobs, warnings = expand(arguments)
    assert {job.case.direction for job in jobs if job.case.bia_dt == "f32"} == {"FWD_B", "BWD_WB"}
    assert {job.case.bias_dims for job in jobs} == {(5,)}
    assert warnings == [
        "ip driver: WARNING: --bia-dt has no effect with --dir=FWD_B and BWD_WB, whose bias is f32"
    ]
    assert expand(["--ip", "--dir=FWD_D", "--bia-dt=f16", "ic4oc5"])[1] == []


@pytest.mark.parametrize(
    ("options", "dims"),
    [
        ("--attr-scales=wei:per_oc", {"scales": (5, 1, 1, 1)}),
        ("--attr-scales=src:common:2+dst:common:2", {"scales": (1, 1)}),
        ("--attr-post-ops=prelu:per_oc", {"prelu": (1, 5)}),
        ("--attr-post-ops=add:f32:per_tensor", {"add": (3, 5)}),
        ("--attr-post-ops=mul:f32:per_dim_0", {"mul": (3, 1)}),
    ],
)
def test_dims_of_parameters(options: str, dims: dict[str, tuple[int, ...]]) -> None:
    (case,) = cases(options, SMALL)
    found = [*args.quantizations(case), *args.post_op_tensors(case)]
    assert {argument.role: argument.dims for argument in found} == dims


def test_timed_rows(capsys: Capture) -> None:
    template = "--perf-template=%driver%;%dir%;%desc%;%stag%;%dtag%;%ops%"
    knobs = "--dir=FWD_I --stag=axb --dtag=abx"
    lines = output(capsys, "--mode=P --fix-times-per-prb=2 --ip", template, knobs, SMALL)
    assert f"ip;FWD_I;{SMALL};acdb;ab;{2 * 3 * 5 * 24}" in lines


@pytest.mark.full
def test_case_file(capsys: Capture) -> None:
    """All cases of the file, but for a few layouts, whose kernels take long to build."""
    lines = output(capsys, "--summary=no-failures --ip --match=oc2 --batch=test_ip_ci")
    (counts,) = [line for line in lines if line.startswith("tests:")]
    assert " failed:0" in counts
    assert int(counts.split(":")[1].split()[0]) > 20


def test_wrong_values_are_noticed(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison fails if weights lay in another order than src."""

    def with_swapped_places(case: Case, values: dict[int, Floats], *more: Any) -> Any:
        return expected(case, values | {args.WEI: values[args.WEI][..., ::-1]}, *more)

    monkeypatch.setattr(execution, "expected", with_swapped_places)
    lines = output(capsys, "--ip", SMALL, code=1)
    assert "FAILED (errors:15 total:15)" in " ".join(lines)


@pytest.mark.parametrize("direction", [name for name in DIRECTIONS if name.startswith("BWD")])
def test_backward_passes_are_skipped(capsys: Capture, direction: str) -> None:
    lines = output(capsys, "--ip", f"--dir={direction}", SMALL)
    assert lines[0].startswith("0:SKIPPED (Case not supported)")
    assert lines[1] == f"# reason: --dir={direction}: zemm has forward passes only"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--attr-scales=wei:per_oc", "scales of an inner product need an s8 or u8 src"),
        ("--dt=s8:s8:f32 --attr-scales=dst:per_oc", "dst scales: mask 2"),
        ("--dt=s8:s8:f32 --attr-scales=src:per_oc", "src scales: mask 2"),
        ("--attr-dropout=0.5", "an inner product has no dropout"),
    ],
)
def test_attributes_that_the_library_refuses(capsys: Capture, options: str, words: str) -> None:
    lines = output(capsys, "--ip", options, SMALL, code=1)
    assert lines[0].startswith("0:UNIMPLEMENTED")
    assert words in lines[1]


def test_peers_are_given_matmuls() -> None:
    (case,) = cases(SMALL)
    with pytest.raises(PeerError, match="peers are given matmuls only"):
        check_is_plain(case)
