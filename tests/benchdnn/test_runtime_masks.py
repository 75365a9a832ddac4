# SPDX-License-Identifier: Apache-2.0
"""`--runtime_dims_masks`: descriptors with runtime dims, runs with the real ones."""

from types import SimpleNamespace
from typing import Any

import pytest
import zemm
from support_driver import Capture, output
from zemm.benchdnn.cli import main
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.expand import expand

R = zemm.RUNTIME_DIM
PLAIN = ["--stag=ab", "--wtag=ab", "--dtag=ab"]
MASKS = "--runtime_dims_masks=1:0,2:1,0:2,3:1,1:2,3:3"
SMALL = "5x20:20x6"


class RecordedDesc(zemm.MatmulPrimitiveDesc):
    """The descriptors that a case makes, and the post-ops' operands."""

    made: dict[str, zemm.MemoryDesc]

    def __init__(self, engine: Any, src: Any, wei: Any, dst: Any, bias: Any = None, attr: Any = None) -> None:
        RecordedDesc.made = {"src": src, "wei": wei, "dst": dst, "bias": bias}


def descriptors(*arguments: str) -> dict[str, zemm.MemoryDesc]:
    """The memory descriptors of the first case of a command line."""
    case = expand(["--matmul", *arguments])[0][0].case
    binding = SimpleNamespace(**{name: getattr(zemm, name) for name in zemm.__all__})
    binding.MatmulPrimitiveDesc = RecordedDesc
    build.primitive_desc(binding, None, case)
    return RecordedDesc.made


@pytest.mark.parametrize(
    ("masks", "src", "wei", "dst", "bias"),
    [
        ("0:0", (5, 20), (20, 6), (5, 6), (5, 6)),
        ("1:0", (R, 20), (20, 6), (R, 6), (R, 6)),
        ("2:1", (5, R), (R, 6), (5, 6), (5, 6)),
        ("0:2", (5, 20), (20, R), (5, R), (5, R)),
        ("3:3", (R, R), (R, R), (R, R), (R, R)),
    ],
)
def test_the_masks_say_which_dims_are_runtime(
    masks: str, src: tuple[int, ...], wei: tuple[int, ...], dst: tuple[int, ...], bias: tuple[int, ...]
) -> None:
    found = descriptors(*PLAIN, f"--runtime_dims_masks={masks}", "--bia-dt=f32", "--bia_mask=3", SMALL)
    assert [tuple(md.dims) for md in found.values()] == [src, wei, dst, bias]


def test_a_bias_has_the_runtime_dims_of_its_mask() -> None:
    knobs = [*PLAIN, "--runtime_dims_masks=3:3", "--bia-dt=f32"]
    assert tuple(descriptors(*knobs, "--bia_mask=1", SMALL)["bias"].dims) == (R, 1)
    assert tuple(descriptors(*knobs, "--bia_mask=2", SMALL)["bias"].dims) == (1, R)


def test_a_bias_has_an_open_layout_unless_dst_has_runtime_dims() -> None:
    knobs = [*PLAIN, "--bia-dt=f32"]
    for masks, kind in (("2:1", "any"), ("1:0", "blocked")):
        assert descriptors(*knobs, f"--runtime_dims_masks={masks}", SMALL)["bias"].format_kind == kind


@pytest.mark.parametrize(
    ("line", "count"),
    [
        (f"{' '.join(PLAIN)} --bia-dt=undef,f32 --bia_mask=1,3 --attr-scratchpad=library,user {SMALL}", 36),
        (f"{' '.join(PLAIN)} --attr-post-ops=sum:0.5+relu,add:f32:per_tensor:ba+prelu:per_oc {SMALL}", 12),
        (f"{' '.join(PLAIN)} --attr-post-ops=select:f32.per_tensor,mul:f32:per_tensor:any {SMALL}", 12),
        (f"--strides=40x1:9x1:11x1,1x8:1x30:11x1 --bia-dt=f32 {SMALL}", 12),
        (f"--stag=ba --wtag=ba --dtag=ab --dt=s8:s8:s32,bf16:bf16:f32 {SMALL}", 12),
        ("--stag=abx,bax --wtag=abx --dtag=abx --bia-dt=f32 --bia_mask=4 3x5x20:3x20x6 3x5x20:1x20x6", 24),
    ],
    ids=["bias", "post-ops", "operands", "strides", "types", "batches"],
)  # fmt: skip
def test_checked_cases_pass(capsys: Capture, line: str, count: int) -> None:
    masks = "--runtime_dims_masks=1:1,6:2,4:2,0:4,5:3,7:7" if "x20x6" in line else MASKS
    assert main(["--matmul", masks, *line.split()]) == 0
    assert f"tests:{count} passed:{count} " in capsys.readouterr().out


@pytest.mark.parametrize("mode", ["I", "R", "B", "P"])
def test_modes(capsys: Capture, mode: str) -> None:
    knobs = [f"--mode={mode}", "--fix-times-per-prb=5", "--matmul", *PLAIN, MASKS]
    assert main([*knobs, "--attr-post-ops=sum", SMALL]) == 0
    assert "tests:6 passed:6 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("knobs", "sentence"),
    [
        (["--runtime_dims_masks=1:0"], "src has runtime dimensions, so --stag or --strides must"),
        (["--runtime_dims_masks=0:2", "--stag=ab", "--wtag=ab"], "dst has runtime dimensions, so --dtag or"),
        (["--runtime_dims_masks=2:0", *PLAIN], "K is a runtime dimension of one of src and wei only"),
        (["--runtime_dims_masks=4:1", "--stag=abc", "--wtag=abc", "--dtag=abc"], "K is a runtime dimension"),
        (["--runtime_dims_masks=1:0", "--stag=abc", "--wtag=abc", "--dtag=abc"], "batch dimensions"),
    ],
)  # fmt: skip
def test_masks_that_do_not_fit_are_skipped(capsys: Capture, knobs: list[str], sentence: str) -> None:
    shape = "3x5x20:3x20x6" if "--stag=abc" in knobs else SMALL
    lines = output(capsys, "-v1 --matmul", *knobs, shape)
    assert lines[0].startswith("[INVALID]: ")
    assert sentence in lines[0]
    assert lines[1].startswith("0:SKIPPED (Invalid case)")
