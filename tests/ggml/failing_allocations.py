# SPDX-License-Identifier: Apache-2.0
"""Allocations of libggml-zemm.so fail, one by one, or all from one on: python failing_allocations.py TYPE

The library of failing_new.cpp is preloaded. A product has failed or is right, all later ones are right. It
prints how many allocations failed in each function. An error ends it with a sentence.
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

N, K, E, ROWS = 32, 256, 2, 33
MANY = 1 << 30

failing = ctypes.CDLL(os.environ["LD_PRELOAD"])
failing.failing_new_from.argtypes = [ctypes.c_long, ctypes.c_long]
failing.failing_new_live.restype = ctypes.c_long


class Case:
    """A tensor of weights, repacked by ggml if it repacks the type."""

    def __init__(self, type_name: str, *, experts: bool, usage: int) -> None:
        rng = np.random.default_rng(0)
        self.kind = FORMATS[type_name].number
        shape = (E, N, K) if experts else (N, K)
        self.old = usual_blocks(type_name, shape, rng)
        self.src = rng.standard_normal((ROWS, K)).astype(np.float32)
        self.ids = rng.integers(0, E, (ROWS, 1)).astype(np.int32) if experts else None
        self.tensors, self.w = ggml.in_buffer(
            "CPU_REPACK" if type_name == "Q4_0" else "CPU", self.kind, self.old, usage
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
        """Later products are right."""
        got = self.product("zemm", self.w, ROWS)
        assert got is not None, f"{what}: the next product fails"
        assert ggml.error(got, self.right(self.old)) < ggml.TOLERANCE, f"{what}: the next product is wrong"


def ask(case: Case) -> None:
    """Whether zemm takes a product."""
    p = ggml.Product(case.w, case.src)
    api().backend_dev_supports_op(ggml.device("zemm"), p.node)
    p.tensors.free()


def multiply(case: Case) -> None:
    want = case.right(case.old)
    with failures_begin():
        got = case.product("zemm", case.w, ROWS)
    assert got is None or ggml.error(got, want) < ggml.TOLERANCE, "a product is wrong"


def make_backend(_: Case) -> None:
    made = api().backend_dev_init(ggml.device("zemm"), None)
    if made:
        api().backend_free(made)


FUNCTIONS: list[Callable[[Case], None]] = [ask, multiply, make_backend]
plan = (-1, 0)


@contextmanager
def failures_begin() -> Iterator[None]:
    failing.failing_new_from(*plan)
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
        (True, USAGE_WEIGHTS, [multiply]),
    ):
        points = {f.__name__: sweep(f, type_name, experts=experts, usage=usage) for f in functions}
        print(f"experts {experts}, usage {usage}: {points}", flush=True)
    kept.tensors.free()


if __name__ == "__main__":
    main(*sys.argv[1:])
