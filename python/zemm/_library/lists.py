# SPDX-License-Identifier: Apache-2.0
"""Data types, algorithms, attributes, GPUs, scalings of floats, instruction sets and ggml's blocks.
The heads of the lists in src/lists explain the columns."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from zemm._library.package_files import package_file


@dataclass(frozen=True)
class DataType:
    name: str
    number: int
    bits: int
    kind: str  # floating, integer or exponent
    is_converted: bool  # reorders convert it
    digits: int  # of the significand, with the leading one; of an integer's magnitude
    smallest: float  # the smallest normal value; 1 for integers
    low: float  # the smallest and the largest value
    high: float
    roles: frozenset[str]  # src, weights, dst, bias, scale, zero_point, post_op


@dataclass(frozen=True)
class Algorithm:
    name: str  # without its kind
    number: int
    kind: str  # eltwise or binary
    of: str  # in place: the algorithm that it computes with dst as src1; else ""


@dataclass(frozen=True)
class Attribute:
    name: str  # Attr.set_<name>
    kind: str  # flag, mode, size, tensor or own
    option: str  # of the driver, without --
    is_extension: bool  # oneDNN lacks it
    for_peers: bool  # --peer-<option> gives peers another value


@dataclass(frozen=True)
class FloatScaling:
    mode: str  # the quantization mode of dst's scales
    type: str  # of the scales
    group: int  # elements that share a scale


_KINDS = {
    "ZEMM_FLOAT_TYPE": "floating",
    "ZEMM_WIDE_TYPE": "floating",
    "ZEMM_EXPONENT_TYPE": "exponent",
    "ZEMM_INT_TYPE": "integer",
}
_ROLES = ("src", "weights", "dst", "bias", "scale", "zero_point", "post_op")


def _data_type(row: dict[str, Any]) -> DataType:
    macro, bits = row["macro"], row["bits"]
    kind = _KINDS.get(macro) or row["kind"]
    if kind == "integer":
        is_signed = row.get("is_signed", True)
        digits = bits - is_signed
        numbers = digits, 1.0, row.get("low", -(2**digits)), row.get("high", 2**digits - 1)
    else:
        numbers = row["digits"], row["smallest"], -row["largest"], row["largest"]
    if kind == "exponent":
        numbers = (*numbers[:2], row["smallest"], row["largest"])
    roles = frozenset(role for role in _ROLES if row.get(role))
    return DataType(row["name"], row["number"], bits, kind, macro != "ZEMM_COPIED_TYPE", *numbers, roles)


def _algorithm(row: dict[str, Any]) -> Algorithm:
    kind = "eltwise" if row["macro"].startswith("ZEMM_ELTWISE") else "binary"
    return Algorithm(row["name"], row["number"], kind, row.get("of", ""))


def _attribute(row: dict[str, Any]) -> Attribute:
    kind = row["macro"].removeprefix("ZEMM_").removesuffix("_ATTRIBUTE").lower()
    return Attribute(row["name"], kind, row["option"], row["is_extension"], row["for_peers"])


def _isas(*macros: str) -> dict[str, dict[str, Any]]:
    """The rows of these macros in isa.def, by name."""
    return {row["name"]: row for row in _LISTS["isas"] if row["macro"] in macros}


_NAMES = ("ZEMM_KIND", "ZEMM_TENSOR_KIND", "ZEMM_GATE")  # rows of algs.def that are no algorithms


def _names(*macros: str) -> tuple[str, ...]:
    return tuple(row["name"] for row in _LISTS["algorithms"] if row["macro"] in macros)


_LISTS = json.loads(package_file("lists.json").read_text(encoding="utf-8"))
TYPES = {row["name"]: _data_type(row) for row in _LISTS["types"] if row["macro"] != "ZEMM_NO_ELEMENT"}
ALGORITHMS = tuple(_algorithm(row) for row in _LISTS["algorithms"] if row["macro"] not in _NAMES)
KINDS = _names("ZEMM_KIND", "ZEMM_TENSOR_KIND")  # kinds of post-ops that are no algorithms
GATES = _names("ZEMM_GATE")  # activations of gates; the library knows them by their index
IN_PLACE = {algorithm.name: algorithm.of for algorithm in ALGORITHMS if algorithm.of}
ATTRIBUTES = {row["name"]: _attribute(row) for row in _LISTS["attributes"]}
FLOAT_SCALINGS = {
    row["name"]: FloatScaling(row["mode"], row["type"], row["group"]) for row in _LISTS["scalings"]
}
ISAS = _isas("ZEMM_CPU_ISA", "ZEMM_XE_ISA")
UNITS = _isas("ZEMM_UNIT")  # that multiply
FAMILIES = _isas("ZEMM_FAMILY")  # of kernels
GGUF_BLOCKS: dict[str, dict[str, Any]] = {row["name"]: row for row in _LISTS["gguf_blocks"]}
GPUS: tuple[dict[str, Any], ...] = tuple(_LISTS["gpus"])  # the rows of all macros


def types_for(role: str) -> tuple[str, ...]:
    """Names of the types that an operand of a matmul may have."""
    return tuple(name for name, data_type in TYPES.items() if role in data_type.roles)


def algorithms_of(kind: str) -> tuple[str, ...]:
    """Names of the eltwise or binary algorithms."""
    return tuple(algorithm.name for algorithm in ALGORITHMS if algorithm.kind == kind)


def own_and_emulated(kind: str, features: Iterable[str]) -> tuple[list[str], list[str]]:
    """The features that a device of this kind has, and those of GPUs that the CPU device has in
    software."""
    is_own = {name: kind != "cpu" or ISAS[name]["macro"] != "ZEMM_XE_ISA" for name in features}
    return [name for name in is_own if is_own[name]], [name for name in is_own if not is_own[name]]


def isas_with(*names: str) -> frozenset[str]:
    """The instruction sets of these names, and all that they need or have."""
    found = set(names)
    for name, row in reversed(ISAS.items()):
        if name in found:
            found |= {row["needs"], row.get("also", "none")}
    return frozenset(found - {"none"})
