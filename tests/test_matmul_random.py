# SPDX-License-Identifier: Apache-2.0
"""Random valid and invalid matmuls through the classes of the C API, compared with the numpy
reference.

ZEMM_TEST_EXAMPLES is the number of valid problems (default 120, the same every time; each may build
a kernel).
"""

import dataclasses
import math
import os
from typing import Any

import pytest
import zemm
from hypothesis import HealthCheck, Phase, assume, example, given, seed, settings
from hypothesis import strategies as st
from support_invalid import MUTATIONS
from support_problem import INT8, PostOp, Problem, Quant, make_data, zero_point
from support_run import make_call, make_pd, run

EXAMPLES = int(os.environ.get("ZEMM_TEST_EXAMPLES", "120"))
PARTS = 6  # the examples are split into this many tests
PROFILE = {
    "deadline": None,
    "derandomize": "ZEMM_TEST_EXAMPLES" not in os.environ,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}
SMOOTH = ("relu", "tanh", "elu", "square", "abs", "linear", "logistic", "gelu_tanh", "swish", "gelu_erf")
BINARY = ("add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne", "select")

dimension = st.one_of(st.integers(1, 9), st.sampled_from([15, 16, 17, 31, 32, 33, 63, 64, 65, 70]))
FLOATS = ("f32", "f16", "bf16")
F8 = ("f8_e5m2", "f8_e4m3")
scale_type = st.sampled_from(FLOATS)
long_scale_type = st.sampled_from([*FLOATS, "f8_e4m3", "e8m0"])  # of more than one scale
zero_point_type = st.sampled_from(["s32", "s8", "u8"])


@st.composite
def shapes(draw: Any) -> dict[str, Any]:
    """Dimensions with broadcast batches; K sometimes has groups."""
    batch_ndims = draw(st.sampled_from([0, 0, 0, 1, 1, 2, 3, 10]))
    sides = [draw(st.sampled_from(["both", "src", "wei"])) for _ in range(batch_ndims)]
    sizes = [
        draw(st.integers(1, 3)) if batch_ndims < 4 else draw(st.sampled_from([1, 1, 1, 2])) for _ in sides
    ]
    src = [1 if side == "wei" else size for side, size in zip(sides, sizes, strict=True)]
    wei = [1 if side == "src" else size for side, size in zip(sides, sizes, strict=True)]
    groups = draw(st.sampled_from([1, 1, 2, 3]))
    k = groups * draw(st.sampled_from([32, 64, 48, 20, 7])) if groups > 1 else draw(dimension)
    if draw(st.integers(0, 9)) == 0:
        groups, k = draw(st.sampled_from([(2, 608), (1, 600), (3, 576)]))
    m, n = draw(dimension), draw(dimension)
    if draw(st.integers(0, 24)) == 0:
        m = 0
    return {"src_dims": (*src, m, k), "wei_dims": (*wei, k, n), "k_groups": groups}


def layout(draw: Any, ndims: int) -> dict[str, Any]:
    letters = "abcdefghijkl"[:ndims]
    orders = [None, None, letters[:-2] + letters[-1] + letters[-2], letters[1:] + letters[0]]
    return {
        f"{name}_{what}": draw(st.sampled_from(choices))
        for name in ("src", "wei", "dst")
        for what, choices in (("order", orders), ("pad", [0, 0, 1, 6]))
    }


@st.composite
def post_ops(draw: Any, ndims: int, integer_dst: bool) -> tuple[PostOp, ...]:
    result = []
    masks = st.integers(0, 2**ndims - 1)
    for _ in range(draw(st.sampled_from([0, 0, 1, 2, 3]))):
        kind = draw(st.sampled_from(["sum", "eltwise", "binary", "prelu"]))
        if kind == "sum":
            zero_point = draw(st.integers(-3, 3)) if integer_dst else 0
            result.append(
                PostOp("sum", alpha=draw(st.sampled_from([1.0, 0.5, -0.3, 3.0])), zero_point=zero_point)
            )
        elif kind == "eltwise":
            alg = f"eltwise_{draw(st.sampled_from(SMOOTH))}"
            result.append(PostOp(kind, alg, draw(st.sampled_from([0.0, 0.1, 2.0])), 0.25))
        elif kind == "prelu":
            result.append(PostOp(kind, mask=draw(masks)))
        else:
            dt = draw(st.sampled_from([*FLOATS, *F8, "s8", "u8", "s32"]))
            alg = f"binary_{draw(st.sampled_from(BINARY))}"
            result.append(PostOp(kind, alg, dt=dt, mask=draw(masks), condition_mask=draw(masks)))
    return tuple(result)


def quantisation(draw: Any, p: dict[str, Any], groups: int, weight_only: bool) -> dict[str, Any]:
    """Scales, zero points and reductions that a matmul accepts for integer weights."""
    ndims, k, n = len(p["src_dims"]), p["src_dims"][-1], p["wei_dims"][-1]
    row, column = 1 << (ndims - 2), 1 << (ndims - 1)
    every = 2**ndims - 1
    group = k // groups
    divisors = [d for d in range(1, k + 1) if k % d == 0]
    group_of = st.sampled_from([group] * 2 * len(divisors) + divisors)  # mostly the same group size
    common = [Quant(0, dt=draw(scale_type)), Quant(0, dt=draw(scale_type), host=True)]
    chosen: dict[str, Any] = {}
    src_scales = [None, *common, *(Quant(mask, dt=draw(long_scale_type)) for mask in (row, every - column))]
    if not weight_only:
        mask = draw(st.sampled_from([column | row, every]))
        src_scales.append(Quant(mask, (1, draw(group_of)), draw(long_scale_type)))
    wei_scales = [
        None,
        *common,
        Quant(column, dt=draw(long_scale_type)),
        Quant(every, (draw(group_of), 1), draw(long_scale_type)),
    ]
    if n % 16 == 0 and n:
        wei_scales.append(Quant(column | row, (k, 16), draw(long_scale_type)))
    chosen["src_scale"] = draw(st.sampled_from(src_scales))
    chosen["wei_scale"] = draw(st.sampled_from(wei_scales))
    dt = draw(zero_point_type)
    wei_zps = [None, Quant(0, dt=dt), Quant(0, dt=dt, host=True), Quant(column, dt=dt)]
    wei_zps.append(Quant(every, (draw(group_of), 1), dt))
    if n % 2 == 0 and groups % 2 == 0:
        wei_zps.append(Quant(row | column, (group, 1), draw(st.sampled_from(["s4", "u4"]))))
    if weight_only and n % 16 == 0 and n:
        wei_zps.append(Quant(column, (1, 16), dt))
    chosen["wei_zp"] = draw(st.sampled_from(wei_zps))
    if weight_only:
        return chosen
    dt = draw(zero_point_type)
    src_zps = [None, None, Quant(0, dt=dt), Quant(0, dt=dt, host=True), Quant(row, dt=dt)]
    src_zps.append(Quant(every - column, dt=dt))
    mask = draw(st.sampled_from([column, column | row, every]))
    src_zps.append(Quant(mask, (1, draw(group_of)), dt))
    chosen["src_zp"] = draw(st.sampled_from(src_zps))
    chosen["dst_zp"] = draw(
        st.sampled_from([None, None, zero_point(), zero_point(column if ndims == 2 else 0)])
    )
    if chosen["wei_zp"] and draw(st.booleans()):
        entries = [chosen[name] for name in ("src_scale", "wei_scale", "wei_zp", "src_zp")]
        sizes = [max(entry.groups) for entry in entries if entry and entry.groups and entry.groups != (k, 16)]
        chosen["reduction_group"] = math.gcd(k, *sizes)
    chosen["huge_zero_points"] = not (chosen["src_scale"] or chosen["wei_scale"]) and draw(st.booleans())
    return chosen


@st.composite
def problems(draw: Any) -> Problem:
    p = draw(shapes())
    groups = p.pop("k_groups")
    ndims = len(p["src_dims"])
    kind = draw(st.sampled_from(["float", "integer", "integer", "weight only"]))
    floats = [*FLOATS, *F8, "f4_e2m1"]
    p["src_dt"] = draw(st.sampled_from(INT8 if kind == "integer" else floats))
    p["wei_dt"] = draw(st.sampled_from(floats if kind == "float" else ["s8", "u8", "s4", "u4"]))
    p["dst_dt"] = draw(st.sampled_from([*floats, "s32", "s8", "u8"]))
    if kind == "float":
        p["wei_dt"] = draw(st.sampled_from([p["src_dt"], p["wei_dt"]]))
    else:
        p |= quantisation(draw, p, groups, kind == "weight only")
    if kind == "weight only":
        p["fpmath"] = ("any", True)
    p |= layout(draw, ndims)
    # Format any means dense rows, which may not end within a byte.
    p["any_tags"] = "f4_e2m1" not in (p["src_dt"], p["wei_dt"], p["dst_dt"]) and draw(st.integers(0, 3)) == 0
    if p["any_tags"] and p["wei_dt"] in ("s4", "u4"):
        p["wei_dims"] = (*p["wei_dims"][:-1], p["wei_dims"][-1] + p["wei_dims"][-1] % 2)
        if p.get("wei_zp") and p["wei_zp"].groups == (1, 16):
            p["wei_zp"] = None
        if p.get("wei_scale") and p["wei_scale"].groups[1:] == (16,):
            p["wei_scale"] = None
    if draw(st.booleans()):
        bias_types = [*FLOATS, *F8] if kind != "integer" else ["f32", "bf16", "s32", "s8", "u8"]
        p |= {"bias_dt": draw(st.sampled_from(bias_types)), "bias_mask": draw(st.integers(0, 2**ndims - 1))}
    if draw(st.integers(0, 2)) == 0:
        mask = draw(st.sampled_from([0, 1 << (ndims - 1), 3 << (ndims - 2), 2**ndims - 1]))
        p["dst_scale"] = Quant(mask, dt=draw(long_scale_type if mask else scale_type))
    p["post_ops"] = draw(post_ops(ndims, kind == "integer" and p["dst_dt"] in ("s32", "s8", "u8")))
    p["scratchpad"] = draw(st.sampled_from(["library", "user"]))
    p["rough"] = draw(st.integers(0, 2)) == 0
    p["seed"] = draw(st.integers(0, 2**20))
    return Problem(**p)


@settings(max_examples=1, phases=[Phase.explicit], **PROFILE)
@given(problems())
@example(Problem((9, 600), (600, 33), "s8", "s8", "s32"))
@example(
    Problem(
        (3, 600),
        (600, 5),
        "u8",
        "u8",
        "s32",
        wei_zp=zero_point(2),
        src_zp=zero_point(),
        huge_zero_points=True,
    )
)
@example(Problem((2, 0), (0, 3), "f32", "f32", "f32", bias_dt="f32"))
@example(Problem((1,) * 10 + (3, 5), (2,) * 4 + (1,) * 6 + (5, 7), bias_dt="f16", bias_mask=4095))
def test_chosen(engine: zemm.Engine, problem: Problem) -> None:
    check(engine, problem)


@pytest.mark.quick(cases=lambda part: part == 0)
@pytest.mark.parametrize("part", range(PARTS))
def test_valid(engine: zemm.Engine, part: int) -> None:
    @settings(max_examples=EXAMPLES // PARTS, **PROFILE | {"derandomize": False})
    @given(problems())
    def any_problem(problem: Problem) -> None:
        check(engine, problem)

    (seed(part)(any_problem) if PROFILE["derandomize"] else any_problem)()


def check(engine: zemm.Engine, problem: Problem) -> None:
    if 0 in problem.dst_dims or problem.k == 0:
        check_nothing_happens(engine, problem)
    else:
        run(engine, zemm.Stream(engine), problem)


def check_nothing_happens(engine: zemm.Engine, problem: Problem) -> None:
    """A dimension of zero: the execution succeeds and dst keeps its contents."""
    call = make_call(engine, problem, make_data(problem))
    stream = zemm.Stream(engine)
    zemm.Primitive(call.pd).execute(stream, call.args)
    stream.wait()
    assert (call.dst_bytes == call.before).all()


@settings(max_examples=20, **PROFILE)
@given(st.data())
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda m: m.__name__)
def test_invalid(engine: zemm.Engine, mutation: Any, data: st.DataObject) -> None:
    base = dataclasses.replace(data.draw(problems()), any_tags=False, post_ops=())
    wrong = mutation(data.draw, base)
    assume(wrong is not None)
    with pytest.raises(zemm.ZemmError) as caught:
        wrong.create(engine)
    assert caught.value.status == wrong.status, str(caught.value)
    for part in wrong.names:
        assert str(part) in str(caught.value)


@settings(max_examples=30, **PROFILE)
@given(problems())
def test_descriptor_answers(engine: zemm.Engine, problem: Problem) -> None:
    pd = make_pd(engine, problem)
    assert pd.query_md("src_md").dims == problem.src_dims
    assert pd.query_md("weights_md").dims == problem.wei_dims
    assert pd.query_md("dst_md").dims == problem.dst_dims
    assert pd.query_md("weights_md", 1).ndims == (problem.ndims if problem.bias_dt else 0)
    needed = pd.query_md("scratchpad_md").size
    kept = pd.query_s64("memory_consumption_s64")
    assert (needed if problem.scratchpad == "library" else kept) == 0
    for name in ("src_md", "weights_md", "dst_md"):
        assert pd.query_md(name).format_kind == "blocked"
