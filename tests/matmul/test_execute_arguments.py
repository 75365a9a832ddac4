# SPDX-License-Identifier: Apache-2.0
"""Arguments of an execution: each one missing, doubled, surplus or wrong. Also threads, the cache,
and leaks.

A refused execution leaves dst unchanged.
"""

import math
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import zemm
from support_calls import Call, run
from support_cases import Problem
from zemm._library.library import in_python
from zemm._zemm import ffi, lib

INVALID = 2
SCALES, ZERO_POINTS = zemm.ARG_ATTR_SCALES, zemm.ARG_ATTR_ZERO_POINTS
SRC, WEIGHTS, DST, BIAS = zemm.ARG_SRC, zemm.ARG_WEIGHTS, zemm.ARG_DST, zemm.ARG_BIAS

# Every kind of argument; some are host scalars.
EVERYTHING = Problem(
    "--dt=s8:u8:s8 --bia-dt=f32 --bia_mask=2"
    " --attr-scales=src:3:f32:1x32+wei:2:f16+dst:host_scalar:0.5"
    " --attr-zero-points=src:2:s32:1x32+wei:2:u8+dst:host_scalar:1"
    " --attr-precomputed-reductions=src:3:s32:1x32"
    " --attr-post-ops=add:f32:3+prelu:2+select:f32.1:2 5x64:64x18"
)
POST_OP = [zemm.ARG_ATTR_MULTIPLE_POST_OP(i) for i in range(4)]
NAMES = {
    SRC: "ARG_SRC",
    WEIGHTS: "ARG_WEIGHTS",
    DST: "ARG_DST",
    BIAS: "ARG_BIAS",
    SCALES | SRC: "ATTR_SCALES | ARG_SRC",
    SCALES | WEIGHTS: "ATTR_SCALES | ARG_WEIGHTS",
    SCALES | DST: "ATTR_SCALES | ARG_DST",
    ZERO_POINTS | SRC: "ATTR_ZERO_POINTS | ARG_SRC",
    ZERO_POINTS | WEIGHTS: "ATTR_ZERO_POINTS | ARG_WEIGHTS",
    ZERO_POINTS | DST: "ATTR_ZERO_POINTS | ARG_DST",
    zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS | SRC: "PRECOMPUTED_REDUCTIONS | ARG_SRC",
    POST_OP[0] | zemm.ARG["SRC_1"]: "POST_OP(0) | ARG_SRC_1",
    POST_OP[1] | WEIGHTS: "POST_OP(1) | ARG_WEIGHTS",
    POST_OP[2] | zemm.ARG["SRC_1"]: "POST_OP(2) | ARG_SRC_1",
    POST_OP[2] | zemm.ARG["SRC_2"]: "POST_OP(2) | ARG_SRC_2",
}
HOST = {SCALES | DST, ZERO_POINTS | DST}
PARAMETERS = SCALES | ZERO_POINTS | zemm.ARG_ATTR_PRECOMPUTED_REDUCTIONS


@pytest.fixture
def call(engine: zemm.Engine) -> Call:
    return Call(EVERYTHING)


def refuse(stream: zemm.Stream, call: Call, *words: str) -> None:
    """The execution fails with a sentence that has the words. dst's buffer stays unchanged."""
    primitive = zemm.Primitive(call.pd)
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        primitive.execute(stream, call.args)
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
    stream.wait()
    call.assert_untouched()


def execute_list(call: Call, stream: zemm.Stream, args: list[tuple[int, Any]]) -> int:
    """Execute with a list that may name an argument twice, and return the status."""
    primitive = zemm.Primitive(call.pd)
    status = lib.zemm_primitive_execute(
        primitive._handle, stream._handle, len(args), ffi.new("zemm_exec_arg_t[]", args)
    )
    stream.wait()
    return int(status)


def last_error() -> str:
    return in_python(ffi.string(lib.zemm_last_error()).decode())


def test_everything_works(call: Call) -> None:
    assert set(call.args) == set(NAMES)
    run(EVERYTHING)


def host_scalar(data_type: str) -> zemm.Memory:
    return zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar(data_type), 1)


def other_type(engine: zemm.Engine, arg: int, was: zemm.MemoryDesc) -> tuple[zemm.Memory, list[str]]:
    if arg in HOST:
        return host_scalar("bf16"), ["bf16", was.data_type]
    return zemm.Memory(zemm.MemoryDesc(was.dims, "f64"), engine), ["f64", was.data_type]


def other_shape(engine: zemm.Engine, arg: int, was: zemm.MemoryDesc) -> tuple[zemm.Memory, list[str]]:
    """A parameter may have more elements than the primitive reads, but not fewer."""
    if arg in HOST:
        return zemm.Memory(zemm.MemoryDesc((0,), was.data_type), engine), ["1 dense elements"]
    dims = (*was.dims[:-1], was.dims[-1] + (-1 if arg & PARAMETERS else 2))
    return zemm.Memory(zemm.MemoryDesc(dims, was.data_type), engine), ["x".join(map(str, dims))]


# What becomes of an argument, and words of the sentence. The arguments for which it is wrong.
TENSORS = [arg for arg in NAMES if arg not in HOST]
Change = Callable[[zemm.Engine, int, zemm.MemoryDesc], tuple[zemm.Memory | None, list[str]]]
CHANGES: dict[str, tuple[Change, Sequence[int]]] = {
    "missing": (lambda *_: (None, ["missing"]), [*NAMES]),
    "another type": (other_type, [*NAMES]),
    "another shape": (other_shape, [*NAMES]),
    "host scalar": (lambda engine, arg, was: (host_scalar(was.data_type), ["host scalar"]), TENSORS),
    "another engine": (lambda *_: (zemm.Memory(_[2], zemm.Engine("cpu")), ["another engine"]), TENSORS),
    "no data": (lambda engine, _, was: (zemm.Memory.from_handle(was, engine, 0), ["no data"]), TENSORS),
    "another layout": (
        lambda engine, _, was: (zemm.Memory(zemm.MemoryDesc(was.dims, was.data_type, "ba"), engine), ["ba"]),
        [SRC, WEIGHTS, DST],
    ),
}


@pytest.mark.parametrize(
    ("name", "arg"),
    [pytest.param(name, arg, id=f"{name}-{NAMES[arg]}") for name in CHANGES for arg in CHANGES[name][1]],
)
def test_refused(engine: zemm.Engine, stream: zemm.Stream, call: Call, name: str, arg: int) -> None:
    memory, words = CHANGES[name][0](engine, arg, call.args.pop(arg).md)
    if memory:
        call.args[arg] = memory
    refuse(stream, call, NAMES[arg], *words)


@pytest.mark.parametrize("null", [False, True], ids=["twice", "NULL"])
@pytest.mark.parametrize("arg", NAMES, ids=NAMES.values())
def test_lists_of_arguments(stream: zemm.Stream, call: Call, arg: int, null: bool) -> None:
    """An argument is given twice, or its memory is NULL and therefore missing."""
    args = [(a, ffi.NULL if null and a == arg else memory._handle) for a, memory in call.args.items()]
    more = [] if null else [(arg, call.args[arg]._handle)]
    assert execute_list(call, stream, [*args, *more]) == INVALID
    assert NAMES[arg] in last_error()
    call.assert_untouched()


TENSOR_PARAMETERS = [arg for arg in NAMES if arg & PARAMETERS and arg not in HOST]


def strided(dims: tuple[int, ...], dt: Any, layout: str) -> zemm.MemoryDesc:
    if layout == "part":
        return zemm.MemoryDesc([dim + 2 for dim in dims], dt).submemory(dims, [1] * len(dims))
    wide = [2 * math.prod(dims[d + 1 :]) for d in range(len(dims))]
    across = [math.prod(dims[:d]) for d in range(len(dims))]
    return zemm.MemoryDesc(dims, dt, strides=wide if layout == "wide" else across)


@pytest.mark.parametrize("arg", TENSOR_PARAMETERS)
@pytest.mark.parametrize("layout", ["wide", "transposed", "part", "flat"])
def test_a_parameter_s_strides(engine: zemm.Engine, call: Call, arg: int, layout: str) -> None:
    """A memory with the dimensions of a parameter may have any strides, and be a part of a larger one. Those
    of other dimensions are read as dense, as oneDNN does. They only have to be large enough.
    """
    was = call.args[arg]
    dims, dt = was.md.dims, was.md.data_type
    if layout == "flat":
        call.args[arg] = zemm.Memory(zemm.MemoryDesc((math.prod(dims), 1, 1, 1, 1), dt), engine, was.read())
    else:
        call.args[arg] = zemm.reorder(was, strided(dims, dt, layout))
    call.execute()
    call.check()


def test_a_refused_execution_submits_nothing(
    engine: zemm.Engine, call: Call, capfd: pytest.CaptureFixture[str]
) -> None:
    """Copying a parameter with strides belongs to the execution, which first checks all arguments."""
    dense = call.args[SCALES | WEIGHTS]
    dims = dense.md.dims
    call.args[SCALES | WEIGHTS] = zemm.reorder(
        dense, zemm.MemoryDesc(dims, dense.md.data_type, strides=[2 * math.prod(dims), 2])
    )
    last = max(call.args)
    taken_out = call.args.pop(last)
    stream = zemm.Stream(engine, profiling=True)
    zemm.set_verbose(2)
    try:
        refuse(stream, call, NAMES[last], "missing")
        assert stream.profiling_times() == []
        zemm.Primitive(call.pd).execute(stream, call.args | {last: taken_out})
    finally:
        zemm.set_verbose(0)
    assert len(stream.profiling_times()) == 1
    assert "reorder" not in capfd.readouterr().out
    call.check()


@pytest.mark.parametrize("arg", sorted(HOST))
def test_a_buffer_for_a_host_scalar(engine: zemm.Engine, call: Call, arg: int) -> None:
    """As in oneDNN, a CPU engine takes the value from an ordinary memory, too."""
    was = call.args[arg]
    call.args[arg] = zemm.Memory(zemm.MemoryDesc((1,), was.md.data_type), engine)
    call.args[arg].write(was.read())
    call.execute()
    call.check()


def test_another_engine_s_stream(call: Call) -> None:
    refuse(zemm.Stream(zemm.Engine("cpu")), call, "stream", "engine")


@pytest.mark.parametrize(
    "arg", [POST_OP[1] | zemm.ARG["SRC_1"], POST_OP[3] | zemm.ARG["SRC_1"], POST_OP[3] | WEIGHTS]
)
def test_surplus_post_op(stream: zemm.Stream, call: Call, arg: int) -> None:
    call.args[arg] = call.args[BIAS]
    refuse(stream, call, f"POST_OP({arg // 32768 - 1})", "surplus")


def test_surplus_bias(engine: zemm.Engine, stream: zemm.Stream) -> None:
    call = Call(Problem("2x3:3x4"))
    call.args[BIAS] = zemm.Memory(zemm.MemoryDesc((1, 4), "f32"), engine)
    refuse(stream, call, "BIAS", "surplus")


def test_arguments_that_oneDNN_skips(engine: zemm.Engine) -> None:  # noqa: N802
    """Surplus scales, a workspace, and a scratchpad in library mode are ignored."""
    call = Call(Problem("2x3:3x4"))
    extra = zemm.Memory(zemm.MemoryDesc((1,), "f32"), engine)
    call.args |= {SCALES | SRC: extra, zemm.ARG["WORKSPACE"]: extra, zemm.ARG_SCRATCHPAD: extra, 100: extra}
    call.execute()
    call.check()


def test_a_sum_for_each_element(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """Reductions without groups are the values of src."""
    call = Call(
        Problem(
            "--dt=s8:u8:f32 --attr-zero-points=wei:2 --attr-precomputed-reductions=src:3:s32:1x1 5x64:64x18"
        )
    )
    attr = zemm.Attr()
    attr.set_zero_points(WEIGHTS, 2)
    attr.set_precomputed_reductions(SRC, 3, ())
    mds = [call.pd.query_md(name) for name in ("src_md", "weights_md", "dst_md")]
    zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds, attr=attr)).execute(stream, call.args)
    stream.wait()
    call.check()


def test_counts_of_arguments(stream: zemm.Stream, call: Call) -> None:
    primitive = zemm.Primitive(call.pd)
    for count, array in ((3, ffi.NULL), (-1, ffi.NULL)):
        status = lib.zemm_primitive_execute(primitive._handle, stream._handle, count, array)
        assert status == INVALID
        assert last_error()
    call.args = {}
    refuse(stream, call, "missing")


def test_user_scratchpad(engine: zemm.Engine, stream: zemm.Stream) -> None:
    call = Call(Problem("--dt=s8:u8:s32 --attr-zero-points=wei:2 --attr-scratchpad=user 5x64:64x7"))
    needed = call.pd.query_md("scratchpad_md").size
    assert needed >= 5 * 4
    call.args[zemm.ARG_SCRATCHPAD] = zemm.Memory(zemm.MemoryDesc((needed - 1,), "u8"), engine)
    refuse(stream, call, "SCRATCHPAD", str(needed - 1), str(needed))
    del call.args[zemm.ARG_SCRATCHPAD]
    refuse(stream, call, "SCRATCHPAD", "missing")


def test_empty_problems_check_their_arguments(stream: zemm.Stream) -> None:
    call = Call(Problem("--bia-dt=f32 --bia_mask=2 2x0:0x4"))
    del call.args[BIAS]
    refuse(stream, call, "BIAS", "missing")


# ---- order, streams and threads


def test_a_stream_keeps_the_order(stream: zemm.Stream) -> None:
    """Executions add to dst without a wait between them, and need larger and larger scratchpads
    meanwhile.
    """
    calls = []
    for m in (3, 70, 300):
        call = Call(Problem(f"--dt=s8:u8:s32 --attr-zero-points=src:common:1+wei:2 {m}x64:64x20"))
        primitive = zemm.Primitive(call.pd)
        for _ in range(5):
            primitive.execute(stream, call.args)
        calls.append(call)
    call = Call(Problem("--attr-post-ops=sum:1 9x8:8x20"))
    primitive = zemm.Primitive(call.pd)
    for _ in range(20):
        primitive.execute(stream, call.args)
    stream.wait()
    for each in calls:
        each.check()
    call.values[DST] += 19 * (call.values[SRC] @ call.values[WEIGHTS])
    call.check()


# ---- the primitive cache, observed in the log of another process

CACHE_SCRIPT = """
import sys, zemm
engine = zemm.Engine("cpu")
capacity, *order = map(int, sys.argv[1:])
zemm.set_primitive_cache_capacity(capacity)
assert zemm.get_primitive_cache_capacity() == capacity
for n in order:
    mds = [zemm.MemoryDesc(dims, "f32") for dims in ((2, 3), (3, n), (2, n))]
    zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, *mds))
"""


@pytest.mark.parametrize(
    ("capacity", "order", "hits"),
    [
        (10, [4, 4, 5, 4, 5], [0, 1, 0, 1, 1]),
        (0, [4, 4, 4], [0, 0, 0]),
        (2, [4, 5, 4, 6, 4, 5, 6], [0, 0, 1, 0, 1, 0, 0]),  # 6 evicts 5, the least recently used
        (1, [4, 5, 4, 4], [0, 0, 0, 1]),
    ],
)
def test_cache(capacity: int, order: list[int], hits: list[int]) -> None:
    command = [sys.executable, "-c", CACHE_SCRIPT, str(capacity), *map(str, order)]
    environment = os.environ | {"ZEMM_VERBOSE": "profile_create", "ZEMM_CACHE": "0"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=True)
    lines = [line for line in (done.stdout + done.stderr).splitlines() if ",create:cache_" in line]
    assert ["cache_hit" in line for line in lines] == [bool(hit) for hit in hits]
    assert all(f"2x3:3x{n}" in line for n, line in zip(order, lines, strict=True))


def test_attributes_are_part_of_the_key() -> None:
    """Problems that differ in one setting never share a cache entry. Executed in turn, all give
    right results.
    """
    base = Problem("--dt=s8:s8:f32 5x32:32x6")
    scales = ("src:common:2", "src:1", "wei:2:f16", "wei:3:f32:16x1", "wei:2:bf16")
    linear = [f"linear:{a}:1" for a in (1, 2)] + [f"linear:1:{b}" for b in (0, 2)]
    masked = [f"{name}:{mask}" for name in ("add:f32", "prelu") for mask in range(4)]
    variants = [
        *(base.but(f"--attr-scales={scale}") for scale in scales),
        *(base.but(f"--attr-post-ops={op}") for op in (*linear, *masked, "sum:1", "sum:2")),
        base.but("dst_pad=1"),
        base.but("--attr-zero-points=wei:common:1"),
        base.but("--attr-zero-points=wei:host_scalar:1"),
    ]
    for _ in range(2):
        for problem in [base, *variants]:
            run(problem)
