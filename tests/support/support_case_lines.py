# SPDX-License-Identifier: Apache-2.0
"""The problems of problems.txt, as case lines: the language of zemm-benchdnn.

A line is a name, a colon, options and a problem. Layouts are dense where the line names none.
Values of scales and zero points do not count: the tests make their own. Words without dashes are
what a case line cannot say: members of Problem, or of the variants of a table. `limit=8` has a
value, `rough` alone is true. A problem of 1x1:1x1 is of any shape, which the test sets.
"""

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import TypeVar

from support_problem import PostOp, Problem, Quant
from zemm._library.lists import IN_PLACE
from zemm.benchdnn.grammar import masks
from zemm.benchdnn.grammar.attributes import Quantization
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import expand
from zemm.benchdnn.grammar.post_ops import Binary, Eltwise, Prelu, Sum
from zemm.benchdnn.grammar.post_ops import PostOp as PostOpOfCase
from zemm.benchdnn.grammar.tags import normalized

T = TypeVar("T")
MEMBERS = {field.name for field in fields(Problem)}
DENSE = ["--matmul", "--stag=abx", "--wtag=abx", "--dtag=abx"]
ARGUMENTS = {"src": 1, "wei": 33, "dst": 17}


def of_line(line: str) -> tuple[Problem, dict[str, int]]:
    """The problem of a line, and the words that are no members of Problem."""
    words = line.split()
    options = [word for word in words if word.startswith("-") or word[0].isdigit()]
    ((job,), _) = expand([*DENSE, *options])
    split = [word.partition("=") for word in words if word not in options]
    values = {name: int(value) if equals else True for name, equals, value in split}
    members = {name: value for name, value in values.items() if name in MEMBERS}
    return of_case(job.case, members), {name: values[name] for name in values.keys() - members.keys()}


def problem_of(line: str) -> Problem:
    return of_line(line)[0]


def of_case(case: Case, members: dict[str, int]) -> Problem:
    attributes, ndims = case.attributes, case.problem.ndims
    settings: dict[str, object] = dict(members)
    for (name, arg), tag in zip(ARGUMENTS.items(), case.tags, strict=True):
        settings[f"{name}_scale"] = quant(attributes.find("scales", arg), ndims)
        settings[f"{name}_zp"] = quant(attributes.find("zero_points", arg), ndims)
        order = normalized(tag, ndims)
        if order == "any":
            settings["any_tags"] = True
        elif not order.islower():
            settings[f"{name}_tag"] = tag
        elif list(order) != sorted(order):
            settings[f"{name}_order"] = order
    settings["wei_offset"] = quant(attributes.find("offsets", ARGUMENTS["wei"]), ndims)
    if case.has_bias:
        settings |= {"bias_dt": case.bia_dt, "bias_mask": case.bia_mask}
    if attributes.precomputed_reductions:
        settings["reduction_group"] = attributes.precomputed_reductions[0].groups[1]
    if attributes.fpmath.mode != "strict" or attributes.fpmath.apply_to_int:
        settings["fpmath"] = (attributes.fpmath.mode, attributes.fpmath.apply_to_int)
    settings["reduced_range"] = bool(attributes.reduced_range)
    settings["src_group"] = attributes.src_dyn_quant
    return Problem(
        case.problem.src,
        case.problem.wei,
        *case.dt,
        post_ops=tuple(post_op(op, ndims) for op in attributes.post_ops),
        scratchpad=attributes.scratchpad,
        **settings,  # type: ignore[arg-type]
    )


def quant(found: Quantization | None, ndims: int) -> Quant | None:
    if found is None:
        return None
    mask = masks.quantization_mask(found.mask, ndims)
    return Quant(mask, found.groups, found.data_type, found.on_host)


def post_op(op: PostOpOfCase, ndims: int) -> PostOp:
    if isinstance(op, Sum):
        return PostOp("sum", alpha=op.scale, zero_point=op.zero_point)
    if isinstance(op, Eltwise):
        return PostOp("eltwise", f"eltwise_{op.name}", op.alpha, op.beta)
    if isinstance(op, Prelu):
        return PostOp("prelu", mask=masks.post_op_mask(op.mask, ndims))
    assert isinstance(op, Binary)
    condition = masks.post_op_mask(op.condition.mask, ndims) if op.condition else 0
    mask = masks.post_op_mask(op.operand.mask or ("per_tensor" if op.name in IN_PLACE else ""), ndims)
    return PostOp("binary", f"binary_{op.name}", dt=op.data_type, mask=mask, condition_mask=condition)


@cache
def sections() -> dict[str, list[str]]:
    """The lines of problems.txt by the name of their table."""
    text = Path(__file__).with_name("problems.txt").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("["):
            found[line.strip("[]")] = lines = []
        elif not line.startswith("#"):
            lines.append(line)
    return found


def table(section: str, make: Callable[..., T]) -> dict[str, T]:
    """The results of `make` for each problem of a table, by names. It also gets a line's other words."""
    named = (line.partition(": ") for line in sections()[section])
    parsed = {name: of_line(rest) for name, _, rest in named}
    return {name: make(problem, **words) for name, (problem, words) in parsed.items()}


def problems(section: str) -> dict[str, Problem]:
    return table(section, lambda problem: problem)
