# SPDX-License-Identifier: Apache-2.0
"""Values of the tensors of a problem: the whole range of each type.

Integers cover the whole range of their type, or all magnitudes up to the word `limit`. Floats are eighths
between -4 and 4 that the type has; with the word `rough` they have all their digits. Scales are powers of
two, or `rough`. Zero points are at most 100, or of any size with `huge_zero_points`.
"""

from collections.abc import Mapping
from functools import cache

import numpy as np
from support_cases import Problem
from zemm._library.lists import TYPES
from zemm.benchdnn.data.reference import reductions
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.dtypes import decode, encode

Array = np.ndarray
# By argument: integers as int64, floats as f64. All are representable in their types.
Values = dict[int, Array]
RANGES = {t.name: (int(t.low), int(t.high)) for t in TYPES.values() if t.kind == "integer" and t.bits <= 32}
ANY_SIZE = 2**31


def arguments(problem: Problem) -> list[Argument]:
    case = problem.case
    return [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case)]


def fill(problem: Problem, given: Mapping[int, object] | None = None) -> Values:
    """The values of all tensors: those that are given (they broadcast), and random ones."""
    rng, given, found = np.random.default_rng(problem.number("seed")), given or {}, Values()
    for argument in arguments(problem):
        drawn = _drawn(rng, problem, argument, found)
        if argument.arg in given:
            drawn = np.array(np.broadcast_to(np.asarray(given[argument.arg]), argument.dims))
        found[argument.arg] = drawn
    return found


def _drawn(rng: np.random.Generator, problem: Problem, argument: Argument, found: Values) -> Array:
    dt, dims, role = argument.data_type, argument.dims, argument.role
    limit, rough = problem.number("limit", ANY_SIZE), bool(problem.number("rough"))
    if argument.is_dst:
        return found[args.DST]
    if role in ("scales", "scale_factors", "offset_factors") and dt not in RANGES:
        return scales(rng, dt, dims, rough)
    if role == "scales":
        return values(rng, dt, dims, limit=64)
    if role == "zero_points":
        is_huge = problem.number("huge_zero_points") and argument.arg != args.ZERO_POINTS | args.DST
        return values(rng, dt, dims, ANY_SIZE if is_huge else min(100, limit), rough)
    if role == "offsets":
        return values(rng, dt, dims, rough=rough)
    if role == "precomputed_reductions":
        entry = problem.find(role, "src")
        assert entry
        return reductions(found[args.SRC], entry.groups[1] if entry.groups else 1)
    if role in ("src", "wei"):
        drawn = values(rng, dt, dims, limit, rough)
        halves = role == "src" and problem.case.attributes.reduced_range and dt in RANGES
        return drawn >> 1 if halves else drawn
    if role == "bias":
        return values(rng, dt, dims, 1000, rough)
    if role == "condition":
        return rng.integers(0, 2, dims)
    drawn = values(rng, dt, dims, 100)  # dst, and operands of post-ops
    return np.where(drawn == 0, 2, drawn) if role == "div" else drawn


def values(
    rng: np.random.Generator, dt: str, dims: tuple[int, ...], limit: int = ANY_SIZE, rough: bool = False
) -> Array:
    """Random values of a type."""
    if dt in RANGES:
        low, high = RANGES[dt]
        return rng.integers(max(low, -limit), min(high, limit), dims, endpoint=True)
    if rough:
        return as_type(rng.standard_normal(dims), dt)
    return rng.choice(eighths(dt), dims)


@cache
def eighths(dt: str) -> Array:
    """The eighths between -4 and 4 that a type has."""
    every = np.arange(-32, 33) / 8.0
    return every[as_type(every, dt) == every]


def scales(rng: np.random.Generator, dt: str, dims: tuple[int, ...], rough: bool) -> Array:
    powers = np.exp2(rng.integers(-3, 3, dims))
    return as_type(powers * rng.uniform(1, 2, dims), dt) if rough and dt != "e8m0" else powers


def as_type(exact: Array, dt: str) -> Array:
    """Values rounded to a type, as f64."""
    return decode(encode(exact, dt), dt).astype(np.float64)
