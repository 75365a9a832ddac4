# SPDX-License-Identifier: Apache-2.0
"""Tells the instructions by which CPU rows multiply from all others."""

import re

# Products of an instruction that are summed in one element of its result.
_DEPTHS = [
    (re.compile(r"vpdpb[su][su]ds?"), 4),
    (re.compile(r"vpdpwssds?|vpmaddwd|vdpbf16ps"), 2),
    (re.compile(r"vfn?m(add|sub)\d+[ps][sh]"), 1),
    (re.compile(r"tdpb[su][su]d"), 64),
    (re.compile(r"tdp(bf|fp)16ps"), 32),
]
_BITS = {"x": 128, "y": 256, "z": 512}


def depth(op: str) -> int:
    """Elements of K of a multiply; 0 for other instructions."""
    op = op.removeprefix("{vex} ")
    return next((depth for pattern, depth in _DEPTHS if pattern.fullmatch(op)), 0)


def is_tile(op: str) -> bool:
    """Whether it multiplies tiles of AMX."""
    return op.startswith("tdp")


def products(op: str, operands: str) -> int:
    """The products of one instruction; 0 if it does not multiply."""
    if not depth(op):
        return 0
    if is_tile(op):
        return 16 * 16 * depth(op)
    found = re.search(r"%([xyz])mm\d+(?:\s*\{[^}]*\})*$", operands)
    scalar = re.search(r"\d+s[sh]$", op)
    return depth(op) * (1 if scalar or not found else _BITS[found[1]] // 32)
