# SPDX-License-Identifier: Apache-2.0
"""Settings of a driver, which `--reset` restores. A DESC is run once for each combination
of their values, in benchdnn's order."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar.atoms import verification
from zemm.benchdnn.grammar.attributes import DEFAULTS, Attributes
from zemm.benchdnn.grammar.case import ANY_THREADS, Case, PeerChanges, Strides
from zemm.benchdnn.grammar.descriptor import Descriptor
from zemm.benchdnn.grammar.encodings import Encoding, Grouped
from zemm.benchdnn.grammar.group_profiles import GroupProfile
from zemm.benchdnn.grammar.inner_product import WITH_BIAS, InnerProduct
from zemm.benchdnn.grammar.options import ImplFilter, Options
from zemm.benchdnn.grammar.verify import verify

_DEFAULT_BIAS = ("undef", 2)
_ANY_IMPL = ImplFilter()
# Values that the mode decides unless an option sets them.
_OF_THE_MODE = {"scratchpad": "", "deterministic": None}
_ATTRIBUTE_LISTS = {name: [default] for name, default in (DEFAULTS | _OF_THE_MODE).items()}


@dataclass
class Settings:
    """A list of values for each list option, and the options with a single value."""

    dt: list[tuple[str, ...]] = field(default_factory=lambda: [("f32",)])
    stag: list[str] = field(default_factory=lambda: ["any"])
    wtag: list[str] = field(default_factory=lambda: ["any"])
    dtag: list[str] = field(default_factory=lambda: ["any"])
    layout: list[Encoding | Grouped | GroupProfile] = field(default_factory=lambda: [Encoding()])
    strides: list[Strides] = field(default_factory=lambda: [((), (), ())])
    runtime_dims_masks: list[tuple[int, int]] = field(default_factory=lambda: [(0, 0)])
    attribute_lists: dict[str, list[Any]] = field(default_factory=lambda: {**_ATTRIBUTE_LISTS})
    ctx_init: list[str] = field(default_factory=lambda: [ANY_THREADS])
    ctx_exe: list[str] = field(default_factory=lambda: [ANY_THREADS])
    bia_dt: list[str] = field(default_factory=lambda: [_DEFAULT_BIAS[0]])
    bia_mask: list[int] = field(default_factory=lambda: [_DEFAULT_BIAS[1]])
    direction: list[str] = field(default_factory=lambda: ["FWD_B"])
    mb: list[int] = field(default_factory=lambda: [0])
    impl_filter: ImplFilter = _ANY_IMPL
    match: str = ""
    quantize: str = ""
    peer: PeerChanges = field(default_factory=PeerChanges)
    perf_template: str = "def"
    is_bitwise: bool = False

    def get(self, name: str) -> list[Any]:
        """The values of a list option, which may be an attribute."""
        return self.attribute_lists[name] if name in DEFAULTS else list(getattr(self, name))

    def set(self, name: str, values: list[Any]) -> None:
        """Set the values of a list option."""
        if name in DEFAULTS:
            self.attribute_lists[name] = values
        else:
            setattr(self, name, values)

    def attributes(self, options: Options) -> list[Attributes]:
        """All combinations of attributes. Attributes that are not set get the default of the
        mode."""
        found = [Attributes(*values) for values in itertools.product(*self.attribute_lists.values())]
        return [
            replace(
                a,
                scratchpad=a.scratchpad or options.default_scratchpad,
                deterministic=self.is_bitwise if a.deterministic is None else a.deterministic,
            )
            for a in found
        ]

    def biases(self) -> list[tuple[str, int]]:
        """(data type, mask) of each bias. Type undef, which means no bias, is used once, whatever
        the masks."""
        pairs = []
        for dt in self.bia_dt:
            pairs += [_DEFAULT_BIAS] if dt == "undef" else [(dt, mask) for mask in self.bia_mask]
        return pairs

    def cases(self, options: Options, problem: Descriptor) -> Iterator[Case]:
        """The cases of one problem. UsageError if a value does not fit the problem."""
        if isinstance(problem, InnerProduct):
            found = self._inner_products(options, problem)
        else:
            found = self._matmuls(options, problem)
        for case in found:
            verify(case)
            yield case

    def _matmuls(self, options: Options, problem: Descriptor) -> Iterator[Case]:
        loops: Iterator[tuple[Any, ...]] = itertools.product(
            self.dt, self.stag, self.wtag, self.dtag, self.layout, self.strides, self.runtime_dims_masks,
            self.attributes(options), self.ctx_init, self.ctx_exe, self.biases(),
        )  # fmt: skip
        for dt, stag, wtag, dtag, layout, strides, masks, attributes, ctx_init, ctx_exe, (
            bia_dt,
            bia_mask,
        ) in loops:
            groups = layout.of(problem) if isinstance(layout, GroupProfile) else layout
            yield Case(
                options, problem, _types_of(dt, problem), (stag, wtag, dtag), strides, groups, masks, bia_dt,
                bia_mask, attributes, ctx_init, ctx_exe, self._filter(options), self.quantize, self.peer,
            )  # fmt: skip

    def _inner_products(self, options: Options, problem: InnerProduct) -> Iterator[Case]:
        """The cases of an inner product, in the order of benchdnn's loops."""
        loops: Iterator[tuple[Any, ...]] = itertools.product(
            self.direction, self.dt, self.bia_dt, self.stag, self.wtag, self.dtag, self.attributes(options),
            self.ctx_init, self.ctx_exe, self.mb,
        )  # fmt: skip
        plain, no_bias_mask = Settings(), _DEFAULT_BIAS[1]
        for direction, dt, bia_dt, stag, wtag, dtag, attributes, ctx_init, ctx_exe, mb in loops:
            yield Case(
                options, problem.with_batch(mb), _types_of(dt, problem), (stag, wtag, dtag), plain.strides[0],
                Encoding(), plain.runtime_dims_masks[0], "f32" if direction in WITH_BIAS else bia_dt,
                no_bias_mask, attributes, ctx_init, ctx_exe, self._filter(options), direction=direction,
            )  # fmt: skip

    def _filter(self, options: Options) -> ImplFilter:
        return options.global_impl if options.global_impl.names else self.impl_filter


def _types_of(dt: tuple[str, ...], problem: Descriptor) -> tuple[str, str, str]:
    return three_types(dt, f"{verification(problem.driver)}--dt")


def three_types(dt: tuple[str, ...], what: str) -> tuple[str, str, str]:
    """The data types of src, weights and dst from a list of three, or of one for all."""
    if len(dt) == 1:
        return dt[0], dt[0], dt[0]
    if len(dt) != 3:
        raise UsageError(f"{what}={':'.join(dt)}: {len(dt)} data types are given, 1 or 3 are needed")
    return dt[0], dt[1], dt[2]
