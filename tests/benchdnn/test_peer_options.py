# SPDX-License-Identifier: Apache-2.0
"""`--peer`, `--peak`, `--peer-*` and `--quantize`: their values, and the problem that a peer gets to run."""

import pytest
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.peers.problem import peer_case

ALL = (
    "--dt=s8:u8:f16 --stag=ab --wtag=ba --dtag=ab --bia-dt=f16 --attr-scratchpad=user "
    "--attr-scales=src:per_tensor:f16:1x128+wei:per_oc:f16 --attr-zero-points=wei:per_oc:u8 "
    "--attr-precomputed-reductions=src:per_tensor:s32:1x128"
)
PROBLEM = "31x256:256x64"


def case_of(options: str, *more: str) -> Case:
    (job,), _ = expand([*more, "--matmul", *options.split(), PROBLEM])
    return job.case


def peer_line(options: str, name: str = "onednn") -> str:
    return peer_case(case_of(options), name).repro().removesuffix(PROBLEM).strip()


def test_what_a_peer_runs_otherwise() -> None:
    changes = (
        "--peer-dt=u8:s8:f32 --peer-stag=ba --peer-wtag=any --peer-dtag=ba --peer-bia-dt=undef "
        "--peer-attr-scales=wei:per_oc --peer-attr-zero-points=none --peer-attr-precomputed-reductions=none "
        "--peer-attr-post-ops=relu --peer-attr-fpmath=bf16:true"
    )
    assert peer_line(f"{ALL} {changes}") == (
        "--dt=u8:s8:f32 --stag=ba --dtag=ba --attr-scales=wei:per_oc --attr-post-ops=relu "
        "--attr-fpmath=bf16:true"
    )


def check_line_says(changes: str) -> None:
    """The line of a case has these options of its peers, and reproduces itself."""
    line = case_of(f"{ALL} {changes}").repro()
    assert line.endswith(f" {changes} {PROBLEM}")
    assert case_of(line.removesuffix(PROBLEM)).repro() == line


def test_the_line_of_a_case_says_what_its_peer_runs() -> None:
    changes = (
        "--quantize=f32 --peer-dt=u8:s8:f32 --peer-wtag=any --peer-bia-dt=undef --peer-attr-scales=none "
        "--peer-attr-zero-points=wei:common:3 --peer-attr-fpmath=strict:true"
    )
    check_line_says(changes)


def test_values_for_single_peers() -> None:
    changes = (
        "--peer-dt=u8:s8:f32,onnxruntime=u8:s8:s32,torch=s8:s8:s32 --peer-bia-dt=torch=undef "
        "--peer-attr-scales=wei:per_oc,torch=none"
    )
    check_line_says(changes)
    for name, dt, bias, scales in (
        ("onednn", "u8:s8:f32", "--bia-dt=f16 ", "--attr-scales=wei:per_oc "),
        ("onnxruntime", "u8:s8:s32", "--bia-dt=f16 ", "--attr-scales=wei:per_oc "),
        ("torch", "s8:s8:s32", "", ""),
    ):
        rest = "--attr-zero-points=wei:per_oc:u8 --attr-precomputed-reductions=src:per_tensor:s32:1x128"
        expected = f"--dt={dt} --stag=ab --wtag=ba --dtag=ab {bias}{scales}{rest}"
        assert peer_line(f"{ALL} {changes}", name) == expected


@pytest.mark.parametrize(
    "kind", ["scales", "zero-points", "precomputed-reductions", "post-ops", "fpmath", "src-dyn-quant"]
)
def test_an_empty_attribute_is_none(kind: str) -> None:
    given = f"{ALL} --attr-post-ops=relu --attr-fpmath=bf16 --attr-src-dyn-quant=32"
    none = peer_line(f"{given} --peer-attr-{kind}=none", "torch")
    assert none != peer_line(given, "torch")
    assert none == peer_line(f"{given} --peer-attr-{kind}=", "torch")
    assert none == peer_line(f"{given} --peer-attr-{kind}=torch=", "torch")


def test_reset_takes_changes_back() -> None:
    assert case_of(f"--peer-dt=f32 --quantize= --reset {ALL}") == case_of(ALL)


def test_quantising_gives_peers_the_unquantised_src() -> None:
    assert peer_line(f"{ALL} --quantize=f32") == (
        "--dt=f32:u8:f16 --stag=ab --wtag=ba --dtag=ab --bia-dt=f16 --attr-scales=wei:per_oc:f16 "
        "--attr-zero-points=wei:per_oc:u8"
    )


def test_peers_and_peak_are_kept_by_reset() -> None:
    options = case_of("--reset", "--mode=P", "--peer=onednn,openvino,onednn", "--peak").options
    assert options.peers == ("onednn", "openvino")
    assert options.peak
    assert options.compares
    assert not case_of("", "--mode=C", "--peak").options.compares
    assert not case_of("", "--mode=P").options.compares
    assert not case_of("", "--mode=P", "--peak=false", "--peer=").options.compares
