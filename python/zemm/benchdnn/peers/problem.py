# SPDX-License-Identifier: Apache-2.0
"""The case that a peer runs: that of zemm, as `--quantize` and `--peer-*` change it."""

from dataclasses import replace
from typing import Any

from zemm.benchdnn.grammar.attributes import Attributes
from zemm.benchdnn.grammar.case import PEER_OPTIONS, Case, PeerChanges
from zemm.benchdnn.grammar.options import ImplFilter
from zemm.benchdnn.peers import PeerError

SRC = 1
ATTRIBUTES = tuple(option for option in PEER_OPTIONS if option.startswith("attr-"))
_DROPS = {"dt": "--peer-dt changes it", "bia-dt": "--peer-bia-dt=undef drops it"} | {
    name: f"--peer-{name}=none drops it" for name in ATTRIBUTES
}
_DROPS |= {tag: f"--peer-{tag} changes it" for tag in ("stag", "wtag", "dtag")}


def peer_case(case: Case, name: str) -> Case:
    """The case for the peer `name`. Its repro() is printed as the problem that the peer ran."""
    changes = case.peer.of(name)
    stag, wtag, dtag = case.tags
    attributes = replace(_without_quantised_src(case), scratchpad="library")
    return replace(
        case,
        dt=changes.get("dt") or ((case.quantize, *case.dt[1:]) if case.quantize else case.dt),
        tags=(changes.get("stag", stag), changes.get("wtag", wtag), changes.get("dtag", dtag)),
        attributes=replace(attributes, **case.peer.attributes_of(name)),
        bia_dt=changes.get("bia-dt", case.bia_dt),
        impl_filter=ImplFilter(),
        quantize="",
        peer=PeerChanges(),
    )


def check_is_plain(case: Case) -> None:
    """PeerError for what no peer is given, whatever the options."""
    if case.is_inner_product:
        raise PeerError("peers are given matmuls only, not inner products")
    if not case.is_dense:
        raise PeerError(f"peers are given dense tensors only, not {case.layout}")
    if any(case.runtime_masks):
        masks = ":".join(map(str, case.runtime_masks))
        raise PeerError(f"peers are given dims that are known at once, not --runtime_dims_masks={masks}")


def given(case: Case, *names: str) -> str:
    """The options with these names that a peer's case has, each with what takes it from the peer; "" if
    it has none."""
    knobs = (*case.knobs(), *case.attributes.knobs())
    values = {knob: value for knob, value, default in knobs if value != default}
    return " and ".join(
        f"--{name}={values[f'--{name}']} ({_DROPS.get(name, 'which no option drops')})"
        for name in names
        if f"--{name}" in values
    )


def _without_quantised_src(case: Case) -> Attributes:
    """The attributes; with --quantize without scales, zero points and reductions of src, as a peer
    that gets a floating-point src computes its own."""
    if not case.quantize:
        return case.attributes
    kinds = ("scales", "zero_points", "precomputed_reductions")
    left: dict[str, Any] = {
        kind: tuple(entry for entry in getattr(case.attributes, kind) if entry.arg != SRC) for kind in kinds
    }
    return replace(case.attributes, **left)
