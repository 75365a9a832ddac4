# SPDX-License-Identifier: Apache-2.0
"""A peer's result is compared with the reference before it is timed."""

import numpy as np
import pytest
from test_peer_libraries import case_of
from test_peers import PROBLEM, Fake, rows
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.check import check
from zemm.benchdnn.peers.tensors import tensors

SCALED = "--dt=s8:u4:f32 --attr-scales=src:per_tensor:f32:1x128+wei:per_tensor:f32:128x1"


def right(case: Case) -> Floats:
    """The result of a case, by plain numpy."""
    values = {argument.arg: tensor for argument, tensor in tensors(case)}
    src, wei = values[args.SRC], values[args.WEI]
    if args.SCALES | args.SRC in values:
        src = src * np.repeat(values[args.SCALES | args.SRC], 128, 1)
        wei = wei * np.repeat(values[args.SCALES | args.WEI], 128, 0)
    result: Floats = src @ wei + values.get(args.BIAS, np.float32(0))
    return result


@pytest.mark.parametrize("options", ["--dt=f32", SCALED, "--dt=bf16", "--dt=f32 --bia-dt=f32"])
def test_a_wrong_row_is_found(options: str) -> None:
    case = case_of(options)
    dst = right(case)
    check(case, dst)
    check(case, dst * np.float32(1.01))  # as far as a src with 8 bits
    for row in (0, 30):
        wrong = dst.copy()
        wrong[row] += np.abs(dst).max() / 10
        with pytest.raises(PeerError, match="its result is wrong: an element differs by"):
            check(case, wrong)
    wrong[0, 0] = np.nan
    with pytest.raises(PeerError, match="differs by nan"):
        check(case, wrong)


@pytest.mark.parametrize("options", ["--attr-post-ops=relu", "--attr-scales=dst:common:2"])
def test_what_is_not_checked(options: str) -> None:
    case = case_of(f"--dt=f32 {options}")
    check(case, np.zeros(case.problem.dst, np.float32))


def test_a_wrong_peer_is_not_timed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Fake()
    _, (_, peer) = rows(
        capsys, monkeypatch, {"torch": fake}, "--peer=torch", "--matmul", PROBLEM, check=check
    )
    assert fake.order == "r"
    assert peer["impl"].startswith("refused: its result is wrong: an element differs by")
