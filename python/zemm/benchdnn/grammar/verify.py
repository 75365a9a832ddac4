# SPDX-License-Identifier: Apache-2.0
"""Checks that the options of a case fit one another and its problem, before it runs."""

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms
from zemm.benchdnn.grammar.arguments import SRC
from zemm.benchdnn.grammar.atoms import VERIFICATION as ERROR
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.encodings import MAX_END, Grouped
from zemm.benchdnn.grammar.post_ops import Binary
from zemm.benchdnn.grammar.tags import normalized

_TENSORS = ("src", "wei", "dst")


def verify(case: Case) -> None:
    """UsageError if the options of a case contradict each other or its problem."""
    _check_strides(case)
    if case.grouped:
        _check_sizes(case, case.grouped)
        _check_weights(case, case.grouped)
        _check_layouts(case, case.grouped)
    else:
        _check_ungrouped(case)
    _check_quantize(case)
    _check_timing(case)


def _check_strides(case: Case) -> None:
    dims_of = (case.problem.src, case.problem.wei, case.dst_dims)
    for name, values, tag, dims in zip(_TENSORS, case.strides, case.tags, dims_of, strict=True):
        if not values:
            continue
        text = f"{ERROR}--strides: {atoms.show_dims(values)} for {name}"
        if tag != "any":
            raise UsageError(f"{text} clashes with its tag '{tag}': give one of the two")
        if len(values) != len(dims):
            raise UsageError(
                f"{text} are {len(values)} numbers, {name} of problem {case.problem} has {len(dims)} dims"
            )


def _check_ungrouped(case: Case) -> None:
    problem = case.problem
    if len(problem.wei) > problem.ndims:
        raise UsageError(
            f"{ERROR}problem '{problem}': weights have {len(problem.wei)} dims, src has {problem.ndims}"
        )
    for op in case.attributes.post_ops:
        if isinstance(op, Binary) and op.operand.tag == "grouped":
            error = atoms.verification(problem.driver)
            raise UsageError(f"{error}--attr-post-ops={op}: a grouped tensor needs --grouped")


def _check_sizes(case: Case, grouped: Grouped) -> None:
    problem = case.problem
    if problem.ndims != 2:
        raise UsageError(f"{ERROR}{grouped}: src must be MxK, in {problem} it has {problem.ndims} dims")
    total = sum(grouped.sizes)
    if total != problem.src[grouped.dim]:
        raise UsageError(
            f"{ERROR}{grouped}: the sizes sum up to {total}, dim {grouped.dim} of src in {problem} is "
            f"{problem.src[grouped.dim]}"
        )
    if total > MAX_END:
        raise UsageError(f"{ERROR}{grouped}: the sizes sum up to {total}, more than an s32 holds")


def _check_weights(case: Case, grouped: Grouped) -> None:
    problem = case.problem
    text = f"{ERROR}{grouped}: weights {atoms.show_dims(problem.wei)} in {problem}"
    if grouped.dim == 1:
        if len(problem.wei) != 2:
            raise UsageError(f"{text} must be KxN")
        if problem.wei[0] != problem.k:
            raise UsageError(f"{text} have K {problem.wei[0]}, src has {problem.k}")
    elif len(problem.wei) != 3:
        raise UsageError(f"{text} must be GxKxN, a matrix for each of the {grouped.count} groups")
    elif problem.wei[0] != grouped.count:
        raise UsageError(f"{text} are {problem.wei[0]} matrices for {grouped.count} groups")
    if case.has_bias and case.bia_mask != 2:
        raise UsageError(
            f"{ERROR}{grouped}: --bia_mask={case.bia_mask} must be 2, as bias has a row for each group"
        )


def _check_layouts(case: Case, grouped: Grouped) -> None:
    """The layout of a grouped tensor is given by its groups."""
    of_tensors = zip(_TENSORS, grouped.of_tensors(), case.tags, case.strides, strict=True)
    for name, groups, tag, strides in of_tensors:
        if groups is None:
            continue
        own = groups.tag()
        if strides:
            raise UsageError(
                f"{ERROR}{grouped}: --strides for {name}, but its values are always dense in the order {own}"
            )
        if normalized(tag, 2) not in ("any", own):
            raise UsageError(
                f"{ERROR}{grouped}: --{name[0]}tag={tag}, but values of {name} are always in the order {own}"
            )


def _check_quantize(case: Case) -> None:
    """--quantize needs a src of s8 or u8 that has scales."""
    given = case.attributes.find("scales", SRC) is not None
    if case.quantize and not (case.dt[0] in ("s8", "u8") and given):
        raise UsageError(
            f"{ERROR}--quantize={case.quantize} makes an s8 or u8 src with scales: --dt has {case.dt[0]} for "
            f"src, --attr-scales has {'its scales' if given else 'none for it'}"
        )


def _check_timing(case: Case) -> None:
    options, error = case.options, atoms.verification(case.problem.driver)
    if options.is_perf and options.mode != "S" and options.cold_cache.startswith("custom"):
        raise UsageError(
            f"{error}--cold-cache={options.cold_cache}: no arguments are chosen for it: give wei or all"
        )
    if options.compares and options.num_streams > 1:
        raise UsageError(
            f"{error}--num-streams={options.num_streams}: runs beside peers and limits use one stream"
        )
