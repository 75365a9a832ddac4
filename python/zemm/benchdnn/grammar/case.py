# SPDX-License-Identifier: Apache-2.0
"""A case: a problem with one value for each option, and the line that reproduces it."""

from dataclasses import dataclass, fields, replace
from typing import Any

from zemm.benchdnn.grammar import atoms, masks
from zemm.benchdnn.grammar.attributes import Attributes, Fpmath, Quantization
from zemm.benchdnn.grammar.descriptor import Descriptor
from zemm.benchdnn.grammar.encodings import Encoding, Grouped
from zemm.benchdnn.grammar.inner_product import WITH_BIAS, InnerProduct
from zemm.benchdnn.grammar.options import ImplFilter, Options
from zemm.benchdnn.grammar.options import repro as options_repro
from zemm.benchdnn.grammar.post_ops import PostOp

ANY_THREADS = "auto:auto:auto"
Strides = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class PeerChanges:
    """`--peer-*`: the options that are different for peers. None: the same as in the case.
    `own`: what a single peer gets instead, by its name, in the order of names."""

    dt: tuple[str, str, str] | None = None
    stag: str | None = None
    wtag: str | None = None
    dtag: str | None = None
    bia_dt: str | None = None
    scales: tuple[Quantization, ...] | None = None
    zero_points: tuple[Quantization, ...] | None = None
    offsets: tuple[Quantization, ...] | None = None
    reductions: tuple[Quantization, ...] | None = None
    post_ops: tuple[PostOp, ...] | None = None
    fpmath: Fpmath | None = None
    src_dyn_quant: int | None = None
    own: "tuple[tuple[str, PeerChanges], ...]" = ()

    def of(self, name: str) -> "PeerChanges":
        """The changes for one peer."""
        own = dict(self.own).get(name, PeerChanges())
        given = {f.name: getattr(own, f.name) for f in fields(own) if f.name != "own"}
        return replace(self, own=(), **{field: v for field, v in given.items() if v is not None})

    def changed(self, name: str, field: str, value: Any) -> "PeerChanges":
        """These changes, but with another value of a field for the peer `name`."""
        own = dict(self.own)
        own[name] = replace(own.get(name, PeerChanges()), **{field: value})
        kept = sorted((name, changes) for name, changes in own.items() if changes != PeerChanges())
        return replace(self, own=tuple(kept))

    def knobs(self) -> list[str]:
        """`--peer-X=value`, with `NAME=value` for single peers, for each option that is set."""
        texts: dict[str, list[str]] = {}
        for prefix, changes in (("", self), *((f"{name}=", changes) for name, changes in self.own)):
            for knob, value in changes._common_knobs():
                texts.setdefault(knob, []).append(f"{prefix}{value}")
        order = ("dt", "stag", "wtag", "dtag", "bia-dt", *_ATTRIBUTE_KNOBS.values())
        return [f"--peer-{knob}={','.join(texts[knob])}" for knob in order if knob in texts]

    def _common_knobs(self) -> list[tuple[str, str]]:
        """(X, value) of the options for all peers."""
        own: list[tuple[str, str | None]] = [("dt", ":".join(self.dt) if self.dt else None)]
        own += [(name, getattr(self, name)) for name in ("stag", "wtag", "dtag")]
        own.append(("bia-dt", self.bia_dt))
        set_ = {
            f.name: getattr(self, f.name)
            for f in fields(Attributes)
            if getattr(self, f.name, None) is not None
        }
        shown = {knob: value for knob, value, _ in Attributes(**set_).knobs()}
        own += [(_ATTRIBUTE_KNOBS[name], shown["--" + _ATTRIBUTE_KNOBS[name]] or "none") for name in set_]
        return [(knob, value) for knob, value in own if value is not None]


_ATTRIBUTE_KNOBS = {
    "scales": "attr-scales",
    "zero_points": "attr-zero-points",
    "offsets": "attr-offsets",
    "reductions": "attr-precomputed-reductions",
    "post_ops": "attr-post-ops",
    "fpmath": "attr-fpmath",
    "src_dyn_quant": "attr-src-dyn-quant",
}


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
