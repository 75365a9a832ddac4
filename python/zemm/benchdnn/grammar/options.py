# SPDX-License-Identifier: Apache-2.0
"""Global options, which `--reset` keeps: mode, engine, verbosity, time budget and so on."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from zemm._programs.usage import UsageError
from zemm.benchdnn.grammar import atoms

MODES = "CPLIRFSB"
PEERS = ("onednn", "openvino", "onnxruntime", "torch", "autoround", "ggml")
_SUMMARY_PARTS = ("failures", "impl", "impl-csv")


@dataclass(frozen=True)
class ImplFilter:
    """Accepts implementations whose name contains one of `names`, or with `skip` those whose name
    contains none. Without names it accepts all."""

    names: tuple[str, ...] = ()
    skip: bool = False

    def accepts(self, impl: str) -> bool:
        """Whether the implementation may be used."""
        if not self.names:
            return True
        return any(name in impl for name in self.names) != self.skip

    def __str__(self) -> str:
        return ("--skip-impl=" if self.skip else "--impl=") + ",".join(self.names) if self.names else ""


@dataclass(frozen=True)
class Options:
    """The values of all global options at one point of the command line."""

    mode: str = "C"
    mode_modifier: str = ""
    max_ms_per_prb: float = 3000
    fix_times_per_prb: int = 0
    execution_mode: str = "direct"
    canonical: bool = False
    engine: tuple[str, int] = ("cpu", 0)
    fast_ref: bool = True
    mem_check: bool = True
    allow_enum_tags_only: bool = True
    cpu_isa_hints: str = "none"
    attr_same_pd_check: bool = False
    check_ref_impl: bool = False
    memory_kind: str = "usm"
    stream_kind: str = "def"
    cold_cache: str = "none"
    buffer_prefix: str = ""
    verbose: int = 0
    repeats_per_prb: int = 1
    num_streams: int = 1
    start: int = 0
    jobs: int = 1
    summary: frozenset[str] = frozenset({"failures"})
    global_impl: ImplFilter = ImplFilter()
    peers: tuple[str, ...] = ()
    peak: bool = False

    @property
    def compares(self) -> bool:
        """Whether cases are timed beside peers or compared with the device's peak."""
        return self.is_perf and bool(self.peers or self.peak)

    @property
    def is_perf(self) -> bool:
        """Whether cases are timed instead of checked."""
        return self.mode in "PFS"

    @property
    def fills(self) -> bool:
        """Whether tensors are filled."""
        return "M" not in self.mode_modifier

    @property
    def default_scratchpad(self) -> str:
        """The scratchpad mode of cases that do not choose one: "user" if primitives are created in
        parallel, as these cannot share a scratchpad of the library."""
        return "user" if "P" in self.mode_modifier else "library"


class Knob(NamedTuple):
    """An option `--name=`: the field of Options, the parser of its text (text, what) and its
    printer."""

    name: str
    field: str
    parse: Callable[[str, str], Any]
    show: Callable[[Any], str] = str


def _mode(text: str, what: str) -> str:
    if len(text) != 1 or text.upper() not in MODES:
        raise UsageError(f"{what}: {atoms.unknown('mode', text, MODES)}")
    return text.upper()


def _modifier(text: str, what: str) -> str:
    if set(text.upper()) - set("PM"):
        raise UsageError(f"{what}: '{text}' has letters other than P and M", 2)
    return _letters(text)


def _letters(modifiers: str) -> str:
    """The modifiers in the order of repro lines, each once."""
    return "".join(letter for letter in "PM" if letter in modifiers.upper())


def _engine(text: str, what: str) -> tuple[str, int]:
    kind, colon, index = text.partition(":")
    return atoms.choice(kind, what, ("cpu", "gpu")), atoms.integer(index, what, 0, 2**31 - 1) if colon else 0


def _summary(text: str, what: str) -> frozenset[str]:
    parts = {"failures"}
    for part in re.split("[+,]", text):
        name = atoms.choice(part.removeprefix("no-"), what, _SUMMARY_PARTS)
        parts = parts - {name} if part.startswith("no-") else parts | {name}
    return frozenset(parts)


def _cold_cache(text: str, what: str) -> str:
    match = re.fullmatch(r"none|(?:wei|all|custom)(?:\+tlb(?::(.+)[MGmg])?)?", text)
    if not match or (match[1] and atoms.number(match[1], what) <= 0):
        raise UsageError(f"{what}: '{text}' is not none|wei|all|custom[+tlb[:SIZE M|G]]")
    return text


def _peers(text: str, what: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(atoms.choice(name, what, PEERS) for name in text.split(",")))


def _text(text: str, what: str) -> str:
    return text


def impl_filter(text: str, what: str, skip: bool) -> ImplFilter:
    """The filter of a comma-separated list of substrings, which may be in quotes."""
    names = re.sub("[\"']", "", text).split(",")
    return ImplFilter(tuple(name for name in names if name), skip)


def _int(low: int, high: int = 2**31 - 1) -> Callable[[str, str], int]:
    return partial(atoms.integer, low=low, high=high)


def _choice(*names: str) -> Callable[[str, str], str]:
    return partial(atoms.choice, choices=names)


def _at_least(low: int) -> Callable[[str, str], int]:
    """A parser of integers that takes smaller ones as `low`."""
    return lambda text, what: max(atoms.integer(text, what, -(2**31), 2**31 - 1), low)


def _max_ms(text: str, what: str) -> float:
    return min(max(atoms.number(text, what), 10.0), 60000.0)


def _boolean_knob(name: str) -> Knob:
    return Knob(name, name.replace("-", "_"), atoms.boolean, atoms.show_boolean)


# Repro lines print the options before `verbose` that differ from the default, in this order.
_KNOBS = (
    Knob("mode", "mode", _mode),
    Knob("mode-modifier", "mode_modifier", _modifier),
    Knob("max-ms-per-prb", "max_ms_per_prb", _max_ms, atoms.show_number),
    Knob("fix-times-per-prb", "fix_times_per_prb", _at_least(0)),
    Knob("execution-mode", "execution_mode", _choice("direct", "graph", "native_graph")),
    _boolean_knob("canonical"),
    Knob("engine", "engine", _engine, lambda engine: f"{engine[0]}:{engine[1]}" if engine[1] else engine[0]),
    _boolean_knob("fast-ref"),
    _boolean_knob("mem-check"),
    _boolean_knob("allow-enum-tags-only"),
    Knob("cpu-isa-hints", "cpu_isa_hints", _choice("none", "no_hints", "prefer_ymm")),
    _boolean_knob("attr-same-pd-check"),
    _boolean_knob("check-ref-impl"),
    Knob("memory-kind", "memory_kind", _choice("usm", "buffer", "usm_device", "usm_shared")),
    Knob("stream-kind", "stream_kind", _choice("def", "in_order", "out_of_order")),
    Knob("cold-cache", "cold_cache", _cold_cache),
    Knob("buffer-prefix", "buffer_prefix", _text),
    Knob("verbose", "verbose", _int(0)),
    Knob("repeats-per-prb", "repeats_per_prb", _at_least(1)),
    Knob("num-streams", "num_streams", _int(1)),
    Knob("start", "start", _int(0)),
    Knob("jobs", "jobs", _int(1, 1024)),
    Knob("summary", "summary", _summary),
    Knob("global-impl", "global_impl", partial(impl_filter, skip=False)),
    Knob("global-skip-impl", "global_impl", partial(impl_filter, skip=True)),
    Knob("peer", "peers", _peers, ",".join),
    _boolean_knob("peak"),
)
_BY_NAME = {knob.name: knob for knob in _KNOBS}
_PRINTED = _KNOBS[: [knob.name for knob in _KNOBS].index("verbose")]
NAMES = tuple(_BY_NAME)


# Settings that a mode brings.
_MODES: dict[str, dict[str, Any]] = {
    "R": {"mode_modifier": "M"},
    "F": {"mode_modifier": "PM", "max_ms_per_prb": 10},
    "S": {"mode_modifier": "M", "fix_times_per_prb": 1},
}
# Options that a mode has set, so that they cannot be given after it.
_FIXED = {"max-ms-per-prb": "F", "fix-times-per-prb": "S"}
# Options that repro lines leave out, as the mode sets them.
_IMPLIED = {"mode-modifier": "FS", **_FIXED}


def apply(options: Options, name: str, text: str) -> Options:
    """The options after `--name=text`. An empty text sets the default. UsageError for a bad
    value."""
    knob, what = _BY_NAME[name], f"--{name}"
    value = knob.parse(text, what) if text else getattr(Options(), knob.field)
    if options.mode == _FIXED.get(name):
        raise UsageError(f"{what}={text}: cannot be changed in mode {options.mode}", 2)
    changes: dict[str, Any] = {knob.field: value}
    if name == "mode":
        changes |= _MODES.get(value, {})
    if changes.get("mode_modifier"):
        # As in benchdnn modifiers are added to those before.
        changes["mode_modifier"] = _letters(options.mode_modifier + changes["mode_modifier"])
    changed = replace(options, **changes)
    if changed.is_perf and changed.engine[0] == "gpu":
        # As in benchdnn timed runs on a GPU do not fill tensors.
        return replace(changed, mode_modifier=_letters(changed.mode_modifier + "M"))
    return changed


def repro(options: Options) -> str:
    """The options that differ from their defaults, or all with `--canonical`. Each is followed by a
    space."""
    default = Options()
    shown = []
    for knob in _PRINTED:
        value = getattr(options, knob.field)
        is_implied = options.mode in _IMPLIED.get(knob.name, "")
        if options.canonical or (value != getattr(default, knob.field) and not is_implied):
            shown.append(f"--{knob.name}={knob.show(value)} ")
    return "".join(shown)
