# SPDX-License-Identifier: Apache-2.0
"""A case: a problem with one value for each option, and the line that reproduces it."""

from dataclasses import dataclass
from typing import Any

from zemm.benchdnn.grammar import atoms, masks
from zemm.benchdnn.grammar.attributes import DEFAULTS, KNOBS, Attributes
from zemm.benchdnn.grammar.descriptor import Descriptor
from zemm.benchdnn.grammar.encodings import Encoding, Grouped
from zemm.benchdnn.grammar.inner_product import WITH_BIAS, InnerProduct
from zemm.benchdnn.grammar.options import ImplFilter, Options
from zemm.benchdnn.grammar.options import repro as options_repro

ANY_THREADS = "auto:auto:auto"
Strides = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


_ATTRIBUTES = {name: KNOBS[name] for name in DEFAULTS if KNOBS[name].row.for_peers}
# Options X with a form `--peer-X`, whose one value a peer gets in place of the case's X.
PEER_OPTIONS = ("dt", "stag", "wtag", "dtag", "bia-dt", *(knob.option for knob in _ATTRIBUTES.values()))


@dataclass(frozen=True)
class PeerChanges:
    """`--peer-*`: (option, peer, value) of the options that are different for peers, in the order of repro
    lines. peer: "" for all peers; a peer's own value comes after it and wins."""

    values: tuple[tuple[str, str, Any], ...] = ()

    def of(self, name: str) -> dict[str, Any]:
        """The values for one peer, by option."""
        return {option: value for option, peer, value in self.values if peer in ("", name)}

    def attributes_of(self, name: str) -> dict[str, Any]:
        """The attributes among the values for one peer, by name."""
        values = self.of(name)
        return {field: values[knob.option] for field, knob in _ATTRIBUTES.items() if knob.option in values}

    def changed(self, option: str, values: dict[str, Any]) -> "PeerChanges":
        """These changes, but with other values of an option, by peer."""
        kept = [entry for entry in self.values if entry[0] != option]
        kept += [(option, peer, value) for peer, value in values.items()]
        return PeerChanges(tuple(sorted(kept, key=lambda entry: (PEER_OPTIONS.index(entry[0]), entry[1]))))

    def knobs(self) -> list[str]:
        """`--peer-X=value`, with `NAME=value` for single peers, for each option that is set."""
        shows = {knob.option: knob.show for knob in _ATTRIBUTES.values()} | {"dt": ":".join}
        texts: dict[str, list[str]] = {}
        for option, peer, value in self.values:
            shown = shows.get(option, str)(value) or "none"
            texts.setdefault(option, []).append(f"{peer}={shown}" if peer else shown)
        return [f"--peer-{option}={','.join(shown)}" for option, shown in texts.items()]


@dataclass(frozen=True)
class Case:
    """One case. `dt`, `tags` and `strides` have entries for src, weights and dst. `direction`: that of an
    inner product."""

    options: Options
    problem: Descriptor
    dt: tuple[str, str, str]
    tags: tuple[str, str, str]
    strides: Strides
    layout: Encoding | Grouped
    runtime_masks: tuple[int, int]
    bia_dt: str
    bia_mask: int
    attributes: Attributes
    ctx_init: str
    ctx_exe: str
    impl_filter: ImplFilter
    quantize: str = ""
    peer: PeerChanges = PeerChanges()
    direction: str = ""

    @property
    def is_inner_product(self) -> bool:
        return isinstance(self.problem, InnerProduct)

    @property
    def has_bias(self) -> bool:
        return self.bia_dt != "undef"

    @property
    def grouped(self) -> Grouped | None:
        """The groups of `--grouped`; None without them."""
        return self.layout if isinstance(self.layout, Grouped) else None

    @property
    def dst_dims(self) -> tuple[int, ...]:
        """The dims of dst: with groups along K it has a matrix for each group."""
        if self.grouped and self.grouped.dim == 1:
            return (self.grouped.count, *self.problem.dst)
        return self.problem.dst

    @property
    def dst_ndims(self) -> int:
        """The number of dims that masks of post-ops are about."""
        return len(self.problem.dst)

    @property
    def bias_dims(self) -> tuple[int, ...]:
        """The dims of bias: with groups of rows it has a row for each group. That of an inner product has
        one dimension."""
        if self.is_inner_product:
            return (self.problem.n,)
        if self.grouped and self.grouped.dim == 0:
            return (self.grouped.count, self.problem.n)
        return masks.masked_dims(self.bia_mask, self.problem.dst)

    @property
    def is_dense(self) -> bool:
        """Whether no tensor is sparse or grouped."""
        return self.layout == Encoding()

    @property
    def runtime_dst_mask(self) -> int:
        """The runtime dimensions of dst: batch dims of src or weights, M of src and N of
        weights."""
        src, wei = self.runtime_masks
        m, n = 1 << (self.problem.ndims - 2), 1 << (self.problem.ndims - 1)
        return ((src | wei) & (m - 1)) | (src & m) | (wei & n)

    def knobs(self) -> list[tuple[str, str, str]]:
        """(option, value, default) of all options but attributes, in the order of repro lines."""
        same = len(set(self.dt)) == 1
        dt = ("--dt", self.dt[0] if same else ":".join(self.dt), "f32")
        bias = ("--bia-dt", self.bia_dt, "undef")
        tags = [(f"--{name}tag", tag, "any") for name, tag in zip("swd", self.tags, strict=True)]
        if self.is_inner_product:
            own_bias = [] if self.direction in WITH_BIAS else [bias]
            return [("--dir", self.direction, "FWD_B"), dt, *own_bias, *tags]
        return [
            dt,
            *tags,
            ("--strides", ":".join(map(atoms.show_dims, self.strides)), "::"),
            ("--runtime_dims_masks", ":".join(map(str, self.runtime_masks)), "0:0"),
            bias,
            ("--bia_mask", str(self.bia_mask), "2"),
        ]

    def repro(self) -> str:
        """The part of the repro line after `--matmul ` or `--ip `."""
        canonical = self.options.canonical
        parts = [f"{knob}={value}" for knob, value, default in self.knobs() if canonical or value != default]
        if not self.is_dense:
            after = sum(part.startswith(("--dt=", "--stag=")) for part in parts)
            parts.insert(after, str(self.layout))
        parts += self.shown_attributes()
        parts += [f"--ctx-init={self.ctx_init}"] * (canonical or self.ctx_init != ANY_THREADS)
        parts += [f"--ctx-exe={self.ctx_exe}"] * (canonical or self.ctx_exe != ANY_THREADS)
        parts += [str(self.impl_filter)] * bool(self.impl_filter.names)
        parts += [f"--quantize={self.quantize}"] * bool(self.quantize)
        parts += self.peer.knobs()
        return " ".join([*parts, self.descriptor])

    @property
    def descriptor(self) -> str:
        """The problem with its name, as in a case line."""
        return self.problem.token(self.options.canonical)

    def shown_attributes(self) -> list[str]:
        """`option=value` of the attributes that differ from the default of the mode."""
        options = self.options
        by_mode = {
            "--attr-scratchpad": options.default_scratchpad,
            "--attr-deterministic": atoms.show_boolean(options.mode == "B"),
        }
        knobs = self.attributes.knobs()
        shown = [f"{knob}={value}" for knob, value, default in knobs if value != by_mode.get(knob, default)]
        # As benchdnn: precomputed reductions are not printed if they are the only attribute.
        return [] if all(part.startswith("--attr-precomputed-reductions=") for part in shown) else shown

    def full_repro(self, impl: str = "") -> str:
        """The whole repro line, with global options and the driver. impl: the implementation that
        the line asks for."""
        wanted = f"--impl={impl} " if impl else ""
        return f"{options_repro(self.options)}--{self.problem.driver} {wanted}{self.repro()}"
