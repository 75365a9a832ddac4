# SPDX-License-Identifier: Apache-2.0
"""Allocations of libggml-zemm.so fail, one by one, or all from one on: python failing_allocations.py TYPE

The library of failing_new.cpp is preloaded. Afterwards a tensor has its old bytes or the new ones, and both
devices multiply by these; a product has failed or is right. It prints how many allocations failed in each
function. An error ends it with a sentence.
"""

import ctypes
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import support_ggml as ggml
from support_ggml import USAGE_ANY, USAGE_WEIGHTS, Bytes, Floats, Handle, api
from support_gguf import usual_blocks
from zemm.gguf.formats import FORMATS

N, K, E, ROWS, FEW = 32, 256, 2, 33, 3
MANY = 1 << 30

failing = ctypes.CDLL(os.environ["LD_PRELOAD"])
failing.failing_new_from.argtypes = [ctypes.c_long, ctypes.c_long]
failing.failing_new_live.restype = ctypes.c_long


class Case:
    """A tensor that has been set, and other bytes for it."""

    def __init__(self, type_name: str, *, experts: bool, usage: int) -> None:
        rng = np.random.default_rng(0)
        self.kind = FORMATS[type_name].number
        shape = (E, N, K) if experts else (N, K)
        self.old, self.new = (usual_blocks(type_name, shape, rng) for _ in "12")
        self.src = rng.standard_normal((ROWS, K)).astype(np.float32)
        self.ids = rng.integers(0, E, (ROWS, 1)).astype(np.int32) if experts else None
        self.tensors, self.w = ggml.in_buffer(
            "zemm", self.kind, self.old, usage, "ffn_up_exps" if experts else "w"
        )

    def product(self, device: str, w: Handle, rows: int) -> Floats | None:
        src = self.src[:rows, None] if self.ids is not None else self.src[:rows]
        p = ggml.Product(w, src, None if self.ids is None else self.ids[:rows])
        status = p.status(ggml.shared_backend(device))
        got = p.result(N, (rows,))
        return None if status else got

    def right(self, blocks: Bytes) -> Floats:
        tensors, w = ggml.in_buffer("CPU", self.kind, blocks, USAGE_ANY)
        got = self.product("CPU", w, ROWS)
        tensors.free()
        assert got is not None
        return got

    def check(self, what: str) -> None:
        """The bytes are the old or new ones (or, of a part, some of both), and products are by them."""
        now = ggml.get_bytes(self.w).reshape(self.old.shape)
        want = self.right(now)
        for device, rows in (("zemm", ROWS), ("CPU", FEW)):
            got = self.product(device, self.w, rows)
            assert got is not None, f"{what}: the next product of {device} fails"
            assert ggml.error(got, want[:rows]) < ggml.TOLERANCE, (
                f"{what}: the next product of {device} is wrong"
            )


def set_whole(case: Case) -> None:
    ggml.set_bytes(case.w, case.new)


def set_a_part(case: Case) -> None:
    ggml.set_bytes(case.w, case.new.reshape(-1)[100:300], 100)


def fill(case: Case) -> None:
    api().backend_tensor_memset(case.w, 0x11, 0, case.old[..., 0, :].nbytes)


def clear(case: Case) -> None:
    api().backend_buffer_clear(case.tensors.buffer, 0x11)


def read(case: Case) -> None:
    ggml.get_bytes(case.w)


def ask(case: Case) -> None:
    """Whether zemm takes rows of a tensor, which may be repacked until then."""
    graph = ggml.Tensors()
    ids = graph.new(ggml.I32, 1, E if case.ids is not None else 1)
    api().backend_dev_supports_op(ggml.device("zemm"), api().get_rows(graph.context, case.w, ids))
    graph.free()


def multiply(case: Case) -> None:
    want = case.right(case.old)
    with failures_begin():
        got = case.product("zemm", case.w, ROWS)
    assert got is None or ggml.error(got, want) < ggml.TOLERANCE, "a product is wrong"


def allocate(case: Case) -> None:
    tensors = ggml.Tensors()
    w = tensors.new(case.kind, *ggml.dims_of(case.kind, case.old))
    tensors.allocate("zemm", USAGE_WEIGHTS)
    if tensors.buffer:
        with failures_end():
            ggml.set_bytes(w, case.new)
            np.testing.assert_array_equal(ggml.get_bytes(w), case.new.reshape(-1))
    tensors.free()


def make_backend(_: Case) -> None:
    made = api().backend_dev_init(ggml.device("zemm"), None)
    if made:
        api().backend_free(made)


FUNCTIONS: list[Callable[[Case], None]] = [
    set_whole, set_a_part, fill, clear, read, ask, multiply, allocate, make_backend
]  # fmt: skip
plan = (-1, 0)


@contextmanager
def failures_begin() -> Iterator[None]:
    failing.failing_new_from(*plan)
    yield


@contextmanager
def failures_end() -> Iterator[None]:
    failing.failing_new_from(-1, 0)
    yield


def run(
    function: Callable[[Case], None], type_name: str, first: int, count: int, **kind: int
) -> tuple[bool, int]:
    """Whether an allocation failed, and how many pieces of memory are held afterwards."""
    global plan
    plan = first, count
    case = Case(type_name, **kind)
    if function is not multiply:
        failing.failing_new_from(*plan)
    function(case)
    has_failed = bool(failing.failing_new_has_failed())
    failing.failing_new_from(-1, 0)
    what = f"{function.__name__} without {count} allocations from {first} on"
    if function is set_whole:
        np.testing.assert_array_equal(ggml.get_bytes(case.w), case.new.reshape(-1), what)
    case.check(what)
    case.tensors.free()
    return has_failed, failing.failing_new_live()


def sweep(function: Callable[[Case], None], type_name: str, **kind: int) -> int:
    run(function, type_name, MANY, 1, **kind)
    _, held = run(function, type_name, MANY, 1, **kind)
    for count in (1, MANY):
        first = 0
        while True:
            has_failed, live = run(function, type_name, first, count, **kind)
            assert live <= held, f"{function.__name__}: {live - held} leaks after allocation {first} failed"
            if not has_failed:
                break
            first += 1
    return first


def main(type_name: str) -> None:
    kept = Case(type_name, experts=False, usage=USAGE_WEIGHTS)  # so that primitives are made once
    for experts, usage, functions in (
        (False, USAGE_WEIGHTS, FUNCTIONS),
        (True, USAGE_WEIGHTS, [set_whole, multiply]),
        (False, USAGE_ANY, [multiply]),
    ):
        points = {f.__name__: sweep(f, type_name, experts=experts, usage=usage) for f in functions}
        print(f"experts {experts}, usage {usage}: {points}", flush=True)
    kept.tensors.free()


if __name__ == "__main__":
    main(*sys.argv[1:])
