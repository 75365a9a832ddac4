# SPDX-License-Identifier: Apache-2.0
"""Parses the options of the drivers: `--name=LIST` sets a field of Settings."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms, attributes, dtypes
from zemm.benchdnn.grammar.case import PEER_OPTIONS, Strides
from zemm.benchdnn.grammar.encodings import MAX_END, Encoding, Grouped, Sparsity
from zemm.benchdnn.grammar.group_profiles import GroupProfile, is_profile, parse_profile
from zemm.benchdnn.grammar.inner_product import DIRECTIONS
from zemm.benchdnn.grammar.options import PEERS, ImplFilter, impl_filter
from zemm.benchdnn.grammar.settings import Settings, three_types
from zemm.benchdnn.grammar.tags import parse_tag
from zemm.benchdnn.grammar.template import check_template


class Knob(NamedTuple):
    """An option with a list of values: the field of Settings, and the parser of one value (text,
    what, enum_tags)."""

    field: str
    parse: Callable[[str, str, bool], Any]


def _plain(parse: Callable[[str, str], Any]) -> Callable[[str, str, bool], Any]:
    return lambda text, what, enum_tags: parse(text, what)


def _data_types(text: str, what: str) -> tuple[str, ...]:
    return tuple(dtypes.parse_data_type(part, what) for part in atoms.split(text, ":", what))


def _strides(text: str, what: str) -> Strides:
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"{what}: '{text}' has {len(parts) - 1} colons, S:W:D with exactly two is needed")
    src, wei, dst = (atoms.dims(part, what) if part else () for part in parts)
    return src, wei, dst


def _runtime_masks(text: str, what: str) -> tuple[int, int]:
    masks = [atoms.integer(part, what, 0, 2**12 - 1) for part in atoms.split(text, ":", what)]
    atoms.at_most(text.split(":"), 2, what)
    return masks[0], masks[1] if len(masks) > 1 else 0


def _encoding(text: str, what: str) -> Encoding:
    parts = text.split(":")
    if len(parts) != 3:
        raise UsageError(f"{what}: '{text}' has {len(parts) - 1} colons, S:W:D with exactly two is needed")
    return Encoding(tuple(_sparsity(part, f"{what}={text}") for part in parts))


def _sparsity(text: str, what: str) -> Sparsity:
    if not text:
        return Sparsity()
    kind, *share = atoms.split(text, "+", what)
    atoms.at_most(share, 1, what)
    value = atoms.number(share[0], what) if share else Sparsity().share
    if not 0 <= value <= 1:
        raise UsageError(f"{what}: sparsity {share[0]} is outside of [0, 1]")
    return Sparsity(atoms.choice(kind, what, ("csr", "coo", "packed")), value)


def _grouped(text: str, what: str) -> Grouped | GroupProfile:
    fields = atoms.split(text, ":", what)
    if not 3 <= len(fields) <= 4:
        raise UsageError(f"{what}: '{text}' is not of the form DIM:G:s0+s1+..[:MAX] or DIM:G:PROFILE[:MAX]")
    dim, count = atoms.integer(fields[0], what, 0, 1), atoms.integer(fields[1], what, 1)
    if is_profile(fields[2]):
        return parse_profile(dim, count, fields[2:], what)
    sizes = tuple(atoms.integer(size, what, 0) for size in atoms.split(fields[2], "+", what))
    if len(sizes) != count:
        raise UsageError(f"{what}: '{text}' has {len(sizes)} sizes for {count} groups")
    return Grouped(dim, sizes, atoms.integer(fields[3], what, 0, MAX_END) if len(fields) > 3 else 0)


def _direction(text: str, what: str) -> str:
    return atoms.choice(text, what, [name.lower() for name in DIRECTIONS]).upper()


def _context(text: str, what: str) -> str:
    """`N|auto[:CORE_TYPE[:THREADS_PER_CORE]]` with all three fields."""
    what = f"{what}={text}"
    fields = atoms.split(text, ":", what)
    atoms.at_most(fields, 3, what)
    for field, least in zip(fields, (1, 0, 1), strict=False):
        if field != "auto":
            atoms.integer(field, what, least, 2**31 - 1)
    return ":".join(fields + ["auto"] * (3 - len(fields)))


_KNOBS = {
    "dir": Knob("direction", _plain(_direction)),
    "mb": Knob("mb", _plain(partial(atoms.integer, low=0))),
    "dt": Knob("dt", _plain(_data_types)),
    "stag": Knob("stag", parse_tag),
    "wtag": Knob("wtag", parse_tag),
    "dtag": Knob("dtag", parse_tag),
    "strides": Knob("strides", _plain(_strides)),
    "bia-dt": Knob("bia_dt", _plain(dtypes.parse_data_type)),
    "bia_dt": Knob("bia_dt", _plain(dtypes.parse_data_type)),
    "bia_mask": Knob("bia_mask", _plain(partial(atoms.integer, low=0, high=2**12 - 1))),
    "runtime_dims_masks": Knob("runtime_dims_masks", _plain(_runtime_masks)),
    "encoding": Knob("layout", _plain(_encoding)),
    "grouped": Knob("layout", _plain(_grouped)),
    **{knob.option: Knob(name, _plain(knob.parse)) for name, knob in attributes.KNOBS.items()},
    "ctx-init": Knob("ctx_init", _plain(_context)),
    "ctx-exe": Knob("ctx_exe", _plain(_context)),
}
_SINGLE = ("impl", "skip-impl", "match", "perf-template", "quantize")
_PEERS = tuple(f"peer-{name}" for name in PEER_OPTIONS)
NAMES = (*_KNOBS, *_SINGLE, *_PEERS, "reset")
_OF_MATMUL = (
    "strides", "bia_dt", "bia_mask", "runtime_dims_masks", "encoding", "grouped", "quantize", *_PEERS,
)  # fmt: skip
_ONLY_OF = {**dict.fromkeys(_OF_MATMUL, "matmul"), "dir": "ip", "mb": "ip"}


def names_of(driver: str) -> tuple[str, ...]:
    """The names of a driver's options."""
    return tuple(name for name in NAMES if _ONLY_OF.get(name, driver) == driver)


def apply(settings: Settings, name: str, text: str, enum_tags: bool) -> None:
    """Apply `--name=text` to the settings. An empty text sets the default. UsageError for a bad
    value."""
    what = f"--{name}"
    if name in ("impl", "skip-impl"):
        settings.impl_filter = impl_filter(text, what, name == "skip-impl") if text else ImplFilter()
    elif name == "match":
        settings.match = text
    elif name == "quantize":
        settings.quantize = atoms.choice(text, what, ("f32", "f16", "bf16")) if text else ""
    elif name.startswith("peer-"):
        _apply_peer(settings, name.removeprefix("peer-"), text, what, enum_tags)
    elif name == "perf-template":
        settings.perf_template = check_template(text or "def", what)
    else:
        values = _values(name, text, what, enum_tags)
        # As in benchdnn an empty rounding mode is an empty list, so that a DESC expands to no case.
        settings.set(_KNOBS[name].field, [] if name == "attr-rounding-mode" and not text else values)


def _values(name: str, text: str, what: str, enum_tags: bool) -> list[Any]:
    """The values of a list. Empty ones are the default, but as in benchdnn not those of groups."""
    knob = _KNOBS[name]
    default = Settings().get(knob.field)[0]
    if not text:
        return [default]
    return [
        knob.parse(part, what, enum_tags) if part or name == "grouped" else default
        for part in text.split(",")
    ]


def _apply_peer(settings: Settings, name: str, text: str, what: str, enum_tags: bool) -> None:
    """Apply `--peer-name=VALUE[,PEER=VALUE...]`: a value for all peers and others for single ones.
    What is not given is as in the case."""
    values: dict[str, Any] = {}
    for part in text.split(","):
        peer, is_own, value = part.rpartition("=")
        who = atoms.choice(peer, what, PEERS, "peer") if is_own else ""
        parsed = _peer_value(name, value, what, enum_tags)
        if who in values:
            raise UsageError(f"{what}={text}: {who or 'all peers'} can have one value only")
        values[who] = parsed
    settings.peer = settings.peer.changed(name, values)


def _peer_value(name: str, text: str, what: str, enum_tags: bool) -> Any:
    """The value of `--peer-name` for one or all peers. An attribute that is `none` or empty is that of
    a case without it."""
    knob = _KNOBS[name]
    if text in ("", "none") and name.startswith("attr-"):
        return Settings().get(knob.field)[0]
    if not text:
        raise UsageError(f"{what}= has no value: without the option peers get that of the case")
    value = knob.parse(text, what, enum_tags)
    return three_types(value, f"{atoms.VERIFICATION}{what}") if name == "dt" else value


def reset(settings: Settings) -> Settings:
    """Default settings, but with the perf template and the defaults of the mode kept."""
    return Settings(perf_template=settings.perf_template, is_bitwise=settings.is_bitwise)
