# SPDX-License-Identifier: Apache-2.0
"""The rows for Intel GPUs, forced by name, on the CPU device, which has their builtins in
software.
"""

from dataclasses import dataclass

import numpy as np
import pytest
import zemm
from support_calls import Call, fill, make_pd, result, run, run_exact
from support_cases import PACKED, PACKED_FLOATS, Problem, problems
from support_decisions import needed
from support_rows import BY_NAME, LOADS_1D, XE_ROWS, constant_id, flag, state
from support_tiers import SMALL_ROWS, facts, in_turns, nothing
from support_xe import FLOAT, HALF, INT8, NARROWED, SMALL, TF32, of_shape, pad_of, shapes, tile_of
from zemm.benchdnn.grammar.arguments import SCALES, SRC, WEI, ZERO_POINTS

VARIANTS = {
    "int8": INT8,
    "half": HALF | SMALL | NARROWED,
    "tf32": TF32,
    "float": FLOAT,
}
SMALLEST = [row for row in XE_ROWS if tile_of(row).m == 8]
SCALED = [row for row in XE_ROWS if BY_NAME[row].predicate == "dp4a_scaled_on"]
LARGE = [row for row in XE_ROWS if row not in SMALLEST]


def kind_of(row: str) -> str:
    return BY_NAME[row].src


def variants_of(row: str) -> dict[str, Problem]:
    return HALF | SMALL if kind_of(row) == "half" and row not in LOADS_1D else VARIANTS[kind_of(row)]


def rough(row: str, problem: Problem) -> Problem:
    narrow = {"float": "", "tf32": "tf32"}.get(kind_of(row), "bf16")
    if narrow == "bf16" and problem.case.attributes.fpmath.mode in ("tf32", "f16"):
        narrow = "two_bf16"
    return problem.but(f"rough {f'narrow={narrow}' if narrow else ''}")


def refused(row: str, p: Problem) -> bool:
    """Whether the row refuses the problem. The reason must be one that the variant allows."""
    try:
        make_pd(p)
    except NotImplementedError as error:
        why = str(error).split(f"{row}: ", 1)[1].split(";")[0]
    else:
        return False
    src, wei, _ = p.dt
    both = p.find("zero_points", "src") and p.find("zero_points", "wei")
    is_large, loads = row in LARGE, p.number("loads", 1)
    allowed = {
        "sums that are scaled along K do not fit into its registers": p.scales_groups,
        "what zero points of both src and weights need does not fit": both,
        "2-D block loads cannot read": not loads and is_large,
        "block loads cannot read src": not loads and is_large and row in LOADS_1D,
        "it has no registers for a part of a block of K": is_large and p.k % 16,
        "its tile is for scales along K": not p.scales_groups and row in SCALED,
        "f32 that becomes bf16 does not fit into its registers": src == "f32" and is_large,
        "its tile is for integer weights, f8 and f4": wei in ("f16", "bf16") and is_large,
    }
    assert any(words in why and allowed[words] for words in allowed), why
    return True


def rounds_like_the_reference(row: str, p: Problem) -> bool:
    """Whether the row scales as often as the reference.

    The row scales each block, the reference each segment. So a segment of several blocks is rounded
    more often on the row.
    """
    return not p.scales_groups or not p.is_integer or p.number("group") <= tile_of(row).k


CASES = [(row, name) for row in XE_ROWS for name in variants_of(row)]
NAMES = {name: None for _, name in CASES}


def first_problem(row: str, name: str) -> Problem | None:
    variants = variants_of(row)
    return of_shape(variants[name], *next(shapes(row, variants, name)), 0) if name in variants else None


def facts_of(name: str) -> set[str]:
    return facts(next(variants_of(row)[name] for row, other in CASES if other == name))


# Small tiles build fastest: one row of each kind of operands.
IS_TURN = in_turns([row for row in SMALLEST if row in SMALL_ROWS], NAMES, first_problem, covers=nothing)


@pytest.mark.quick(cases=IS_TURN)
@pytest.mark.decided(cases=needed(XE_ROWS, NAMES, first_problem, first=IS_TURN, covers=facts_of))
@pytest.mark.parametrize(("row", "name"), CASES)
def test_tails(row: str, name: str) -> None:
    """M, N and K around the tile, the instruction and the panel. Integers and floats of few digits
    are exact.
    """
    variants = variants_of(row)
    variant = variants[name]
    taken = refusals = 0
    for seed, (m, n, k) in enumerate(shapes(row, variants, name)):
        problem = of_shape(variant, m, n, k, seed)
        if refused(row, problem):
            refusals += 1
            continue  # test_every_variant_has_rows checks the refusals
        taken += 1
        call = run_exact(problem) if variant.number("exact", 1) else run(problem)
        assert call.pd.impl_info == row
        if rounds_like_the_reference(row, variant):
            run(rough(row, problem))
    is_mixed = taken and refusals and variant.number("loads", 1)
    assert not is_mixed, "all or none of what block loads can read"


@pytest.mark.quick(cases=lambda row: row in SMALL_ROWS)
@pytest.mark.parametrize("row", [row for row in XE_ROWS if kind_of(row) == "int8" and row not in SCALED])
def test_a_panel_ends_inside_a_block(row: str) -> None:
    """Zero points of src multiply the sums of the weights. These sums must not include what follows
    a panel.
    """
    for k in (192, 320):
        run(of_shape(INT8["s8_u8_packed_src_zero_points"], 9, 40, k, k))


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in VARIANTS for name in VARIANTS[kind]])
def test_every_variant_has_rows(monkeypatch: pytest.MonkeyPatch, kind: str, name: str) -> None:
    """The smallest tile takes every variant. A larger tile takes each variant that block loads can
    read.
    """
    rows, variants = [row for row in XE_ROWS if name in variants_of(row)], VARIANTS[kind]
    taken = []
    for row in rows:
        monkeypatch.setenv("ZEMM_KERNEL", row)
        if not refused(row, of_shape(variants[name], *next(shapes(row, variants, name)), 0)):
            taken.append(row)
    assert set(taken) >= set(rows) & set(SMALLEST)
    if variants[name].number("loads", 1):
        assert set(taken) & set(LARGE)


# ---- K in parts, for xe_model's small GPU of two cores with 32 threads each

PARTS = {kind: problems(f"xe parts of {kind}") for kind in ("int8", "half", "tf32")}
PARTS["float"] = PARTS["half"]
# Problems that test_last_wave leaves out.
MORE_PARTS = {"int8": problems("xe more parts of int8")}


def parts_of(row: str) -> dict[str, Problem]:
    return PARTS[kind_of(row)] | MORE_PARTS.get(kind_of(row), {})


@dataclass(frozen=True)
class Split:
    """How K is split: in slices of a work-group, in ranges of work-groups."""

    slices: bool
    ranges: bool


def split_of(problem: Problem) -> Split:
    constants = make_pd(problem).modules()[0].constants
    return Split(
        slices=bool(constants[constant_id("SPEC_FLAGS")] & flag("FLAG_SLICES")),
        ranges=constants[constant_id("SPEC_STAGE")] == state("STAGE_PARTIAL"),
    )


def check_exact_and_alike(row: str, problem: Problem) -> None:
    """The sums of parts are added up exactly. Floats with all their digits give the same bits in
    every run.
    """
    run_exact(problem)
    if not problem.is_integer:
        call = run(rough(row, problem))
        assert not call.is_exact
        first = call.raw.copy()
        for _ in range(2):
            call.raw[:] = 0
            call.execute()
            assert np.array_equal(call.raw, first)


def is_quick_part(row: str, name: str) -> bool:
    return row in SMALL_ROWS and name == next(iter(PARTS[kind_of(row)]))


def long_problem(row: str, name: str) -> Problem | None:
    """A problem of one tile, whose K is cut into ranges."""
    variant = parts_of(row).get(name)
    return variant and of_shape(variant, tile_of(row).m, 15, 200 * variant.number("group", 100), 0)


OF_PARTS = [(row, name) for row in XE_ROWS for name in parts_of(row)]
PARTS_NEEDED = needed(XE_ROWS, {name: None for _, name in OF_PARTS}, long_problem, first=is_quick_part)


@pytest.mark.quick(cases=is_quick_part)
@pytest.mark.decided(cases=PARTS_NEEDED)
@pytest.mark.parametrize(("row", "name"), OF_PARTS)
def test_k_in_parts(row: str, name: str) -> None:
    """With few tiles, K is cut into slices for sub-groups (some slices are empty), and these into
    ranges of work-groups.
    """
    variant, tile = parts_of(row)[name], tile_of(row)
    kinds = set()
    long = 60000 if kind_of(row) == "int8" else 20000
    shapes = [
        (1, 17, 4100),
        (9, 64, 2308),
        (tile.m + 1, 33, 6004),
        (8, 5, 5 * variant.number("group", tile.k)),
        (tile.m, 15, long),
    ]
    for seed, (m, n, k) in enumerate(shapes):
        k -= k % variant.number("group", 4)
        problem = of_shape(variant, m, n, k, seed)
        if refused(row, problem):
            continue  # test_every_variant_has_rows covers similar problems
        split = split_of(problem)
        parts = make_pd(problem).query_md("scratchpad_md").size
        assert not split.ranges or parts >= 2 * m * n * 4
        kinds.add(split)
        check_exact_and_alike(row, problem)
    if not kinds:
        pytest.skip(f"{row} takes none of these problems")
    assert kinds == {Split(True, False), Split(True, True)}


@pytest.mark.full
@pytest.mark.parametrize("row", LARGE)
def test_last_wave(row: str) -> None:
    """Tiles that fill all threads once run without slices. The tiles that remain run in slices."""
    tile = tile_of(row)
    ran = 0
    variants = PARTS[kind_of(row)]
    # The other ones only for a row that takes none of these.
    for name in sorted(variants, key=lambda name: not PARTS_NEEDED(row, name)):
        if ran and not PARTS_NEEDED(row, name):
            break
        variant = variants[name]
        for seed, (tiles, k) in enumerate([(17, 1152), (18, 2304)]):
            # Four rows of tiles.
            problem = of_shape(variant, 4 * tile.m - 3, tiles * tile.n - 5, k, seed)
            if refused(row, problem):
                continue
            assert split_of(problem) == Split(True, False), (name, tiles)
            check_exact_and_alike(row, problem)
            ran += 1
    assert ran


@pytest.mark.quick(cases=lambda row, mode: mode == "tf32" and row in SMALLEST)
@pytest.mark.parametrize("mode", ["tf32", "f16"])
@pytest.mark.parametrize("row", [row for row in LOADS_1D if kind_of(row) == "half" and tile_of(row).m < 32])
def test_f32_that_is_infinite_or_no_number(row: str, mode: str) -> None:
    """Infinities and NaN give the same as in f32, although f32 is split into two bf16."""
    problem = Problem(f"{PACKED_FLOATS} --attr-fpmath={mode} 9x48:48x34 rough")
    data = fill(problem)
    src, wei = data[SRC], data[WEI]
    big = float(np.finfo(np.float32).max)
    src[:, 3] = [np.inf, -np.inf, np.nan, big, -big, 1e30, np.inf, 1e-30, 1]
    src[6, 20] = -np.inf
    wei[3, 5:12] = [0, np.inf, -np.inf, np.nan, 1 + 2**-9, 2000 - 2**-5, 1e-30]
    got = result(problem, data)
    with np.errstate(all="ignore"):
        expected = (src @ wei).astype(np.float32)
        error = np.abs(got.astype(np.float64) - expected)
        allowed = np.abs(src) @ np.abs(wei) * 2**-13
    assert np.isinf(expected).any()
    assert np.isnan(expected).any()
    for kind in (np.isnan, np.isposinf, np.isneginf):
        assert np.array_equal(kind(got), kind(expected))
    finite = np.isfinite(expected)
    assert (error[finite] <= allowed[finite]).all()


# ---- integers that become f32 without a conversion


# Their tiles are too large for scales along K.
UNSCALED = ["matmul_int8_any_any_32x32x64_xe_hpg_int8", "matmul_int8_any_any_24x16x64_xe_dp4a"]


@pytest.mark.quick(cases=lambda row, src: row in SMALLEST and BY_NAME[row].block2d and src == "s8")
@pytest.mark.parametrize("src", ["s8", "u8"])
@pytest.mark.parametrize("row", [row for row in XE_ROWS if kind_of(row) == "int8" and row not in UNSCALED])
def test_the_largest_sums_are_exact(row: str, src: str) -> None:
    """The sums of groups of s8 are also the bits of an f32, because they are below 2^22. Those of u8
    are not.
    """
    problem = Problem(
        f"--dt={src}:u8:f32 --attr-scales=src:3:f16:1x128+wei:3:f16:128x1 --attr-zero-points=wei:3:u8:128x1"
        f" 9x256:256x34 wei_pad={pad_of(34, 'u8')}"
    )
    constants = make_pd(problem).modules()[0].constants
    assert bool(constants[constant_id("SPEC_FLAGS")] & flag("FLAG_SUM_BITS")) == (src == "s8")
    data = fill(problem)
    x, w, points = data[SRC], data[WEI], data[ZERO_POINTS | WEI]
    low, high = (-128, 127) if src == "s8" else (0, 255)
    x[:4], x[4:8] = low, high
    w[:, :8], w[:, 8:16] = 0, 255
    points[:, :4], points[:, 4:12] = 0, 255
    data[SCALES | SRC][:] = data[SCALES | WEI][:] = 1
    data[SCALES | SRC][:, 1] = 0  # leaves the sums of the first group
    expected = x[:, :128] @ (w[:128] - points[:1])
    assert abs(expected).max() == 128 * 255 * max(-low, high)
    assert np.array_equal(run(problem, data).dst, expected)


# ---- where tensors begin

PLACES = {
    "int8": Problem("--dt=u8:u8:s32 --wtag=ba --attr-zero-points=wei:2:u8 1x1:1x1"),
    "half": Problem(f"--dt=bf16:s8:f32 {PACKED} --attr-fpmath=any:true 1x1:1x1 limit=15"),
    "tf32": Problem("--attr-fpmath=tf32 1x1:1x1"),
    "float": Problem("--dt=f32:f16:f32 1x1:1x1"),
}


def place_of(row: str, seed: int = 0) -> Problem:
    """A problem that the row takes.

    Rows with block loads in one dimension get packed weights. Those with tiles for scales along K
    get scales.
    """
    p, tile = PLACES[kind_of(row)], tile_of(row)
    k = 2 * tile.k + 68
    if row in LOADS_1D:
        p = p.but(PACKED if p.dt[1][1:] in ("8", "4") else PACKED_FLOATS)
    if row in SCALED:
        p = p.but(f"--dt={p.dt[0]}:{p.dt[1]}:f32 --attr-scales=wei:3:f32:32x1 limit=15")
    if row in SCALED or kind_of(row) == "float":
        k -= k % 32
    return of_shape(p, tile.m + 1, tile.n + 17, k, seed)


def moved(engine: zemm.Engine, memory: zemm.Memory, behind: int) -> zemm.Memory:
    """A copy that begins `behind` bytes after a multiple of 64."""
    data = memory.read().view(np.uint8).reshape(-1)
    area = np.full(data.size + 192, 0xA5, np.uint8)
    first = -area.ctypes.data % 64 + behind
    area[first : first + data.size] = data
    return zemm.Memory(memory.md, engine, area[first : first + data.size])


def call_at(engine: zemm.Engine, problem: Problem, src: int, wei: int) -> Call:
    call = Call(problem)
    for arg, behind in ((zemm.ARG["SRC"], src), (zemm.ARG["WEIGHTS"], wei)):
        call.args[arg] = moved(engine, call.args[arg], behind)
    return call


@pytest.mark.quick(cases=lambda row: row in SMALL_ROWS)
@pytest.mark.parametrize("row", XE_ROWS)
def test_tensors_begin_anywhere_at_fours(engine: zemm.Engine, row: str) -> None:
    """Memory that begins 4, 8, 36 or 60 bytes after an address that block loads accept as a
    base.
    """
    for seed, (src, wei) in enumerate([(4, 8), (36, 60), (8, 4), (60, 36), (0, 36)]):
        problem = place_of(row, seed)
        call = call_at(engine, problem, src, wei)
        assert call.pd.impl_info == row
        call.execute()
        call.check()
        assert call.is_exact


@pytest.mark.quick(cases=lambda row, behind: row in SMALL_ROWS and behind in (1, 34))
@pytest.mark.parametrize("behind", [1, 2, 3, 34])
@pytest.mark.parametrize("arg", ["SRC", "WEIGHTS"])
@pytest.mark.parametrize("row", XE_ROWS)
def test_tensors_that_begin_elsewhere_are_refused(
    engine: zemm.Engine, stream: zemm.Stream, row: str, arg: str, behind: int
) -> None:
    problem = place_of(row)
    call = call_at(engine, problem, *((behind, 0) if arg == "SRC" else (0, behind)))
    primitive = zemm.Primitive(call.pd)
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        primitive.execute(stream, call.args)
    why = f"ARG_{arg} begins {behind % 4} bytes behind a multiple of 4: {row} reads it in blocks"
    assert why in str(caught.value)
    stream.wait()
    call.assert_untouched()


def test_other_rows_take_tensors_anywhere(engine: zemm.Engine) -> None:
    for variant in PLACES.values():
        problem = of_shape(variant, 9, 33, 196, 0)
        call = call_at(engine, problem, 1 if problem.is_integer else 2, 3)
        assert call.pd.impl_info not in XE_ROWS
        call.execute()
        call.check()


@pytest.mark.parametrize(("k", "along_k"), [(64, True), (66, False)])
def test_tf32_wants_weights_along_k(
    engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, k: int, along_k: bool
) -> None:
    """For tag any, the weights lie along K where 2-D block loads can read them; otherwise they are
    packed.
    """
    for row in (row for row in XE_ROWS if kind_of(row) == "tf32" and row in SMALLEST):
        monkeypatch.setenv("ZEMM_KERNEL", row)
        weights = zemm.MemoryDesc((3, k, 48), "f32", "any")
        attr = zemm.Attr()
        attr.set_fpmath_mode("tf32")
        pd = zemm.MatmulPrimitiveDesc(
            engine, zemm.MemoryDesc((3, 9, k), "f32"), weights, zemm.MemoryDesc((3, 9, 48), "f32"), None, attr
        )
        tag = "acb" if along_k else "aCB16b64c"
        assert pd.query_md("weights_md") == zemm.MemoryDesc((3, k, 48), "f32", tag)
