# SPDX-License-Identifier: Apache-2.0
"""`--quantize`: src is floating-point, and its quantisation on the device is part of the measured
time."""

from collections.abc import Callable
from typing import Any

from zemm.benchdnn.data import build, contents
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.masks import quantization_mask
from zemm.benchdnn.run.buffers import Buffer

FROM, TO = args.SRC, args.DST
Memories = dict[int, Any]


class Quantized:
    """Quantisation of src and the matmul after it, with the interface of one primitive.

    `steps` is the number of executions that a run submits. `source` is the floating-point src.
    """

    steps = 2

    def __init__(self, zemm: Any, engine: Any, case: Case, matmul: Any) -> None:
        self._matmul = matmul
        found = {a.arg: a for a in args.matrices(case)}
        source = Argument(FROM, "src", case.problem.src, case.quantize, found[args.SRC].tag)
        quantised = found[args.SRC]
        mds = [build.memory_desc(zemm, argument) for argument in (source, quantised)]
        pd = zemm.ReorderPrimitiveDesc(engine, *mds, _attributes(zemm, case))
        self._quantise = zemm.Primitive(pd)
        self.source = Buffer(zemm, engine, mds[0])
        self.source.store(contents.real_values(source, args.SRC))

    def execute(self, stream: Any, memories: Memories) -> None:
        self._quantise.execute(stream, self._outputs(memories))
        self._matmul.execute(stream, memories)

    def bind(self, stream: Any, memories: Memories) -> Callable[[], None]:
        """A function that does the same as execute(), with arguments converted once."""
        first = self._quantise.bind(stream, self._outputs(memories))
        second = self._matmul.bind(stream, memories)

        def submit() -> None:
            first()
            second()

        return submit

    def _outputs(self, memories: Memories) -> Memories:
        """The arguments of the quantisation. Its outputs are the matmul's src and the parameters of
        src."""
        flags = (args.SCALES, args.ZERO_POINTS, args.REDUCTIONS)
        written = {flag | TO: memories[flag | args.SRC] for flag in flags if flag | args.SRC in memories}
        return {FROM: self.source.memory, TO: memories[args.SRC], **written}


def _attributes(zemm: Any, case: Case) -> Any:
    """The attributes of the quantisation: the matmul's parameters of src are those of its dst."""
    attr, ndims = zemm.Attr(), case.problem.ndims
    scales, points, sums = (
        case.attributes.find(kind, args.SRC) for kind in ("scales", "zero_points", "precomputed_reductions")
    )
    assert scales is not None
    mask = quantization_mask(scales.mask, ndims)
    attr.set_scales(TO, mask, scales.groups, scales.data_type, quantization_mode="dynamic_fp")
    if case.attributes.reduced_range:
        attr.set_reduced_range(TO)
    if points:
        # Zero points of a quantisation have the groups of its scales.
        attr.set_zero_points(TO, quantization_mask(points.mask, ndims), data_type=points.data_type)
    if sums:
        attr.set_precomputed_reductions(TO, quantization_mask(sums.mask, ndims), sums.groups, sums.data_type)
    return attr
