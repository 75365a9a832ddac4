# SPDX-License-Identifier: Apache-2.0
"""Counts the bytes that the messages (sends) of a loop load and store, for one thread."""

import re
from dataclasses import dataclass

from judge.assembly import Instruction
from judge.errors import IsaError
from judge.pipes import Pipe, pipe_of


@dataclass
class Traffic:
    loaded: int = 0  # bytes loaded into registers
    stored: int = 0  # bytes
    loads: int = 0  # messages
    stores: int = 0  # messages
    prefetches: int = 0  # messages
    spill: int = 0  # messages among these that save or restore registers
    slm_loaded: int = 0  # bytes of `loaded` that come from shared local memory

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(*(a + b for a, b in zip(vars(self).values(), vars(other).values(), strict=True)))

    def __mul__(self, times: int) -> "Traffic":
        return Traffic(*(a * times for a in vars(self).values()))


_REGISTERS = re.compile(r"^(?:null|r\d+):(\d+)$")
_DATA = re.compile(r"^d(\d+)(?:u32)?(?:x(\d+))?(t?)$")  # d32x64t, d16u32, d32


def _register_bytes(operand: str, grf_bytes: int) -> int:
    found = _REGISTERS.match(operand)
    return int(found[1]) * grf_bytes if found else 0


def _lsc_bytes(i: Instruction, grf_bytes: int) -> int:
    """The bytes that a load or store moves: of an element times lanes, of one block (suffix t), or
    of the registers of a 2-D block."""
    operands = i.operands.split()
    register = next((o for o in operands if re.match(r"^r\d+:\d+$", o)), "")
    if "block2d" in i.op:
        size = _register_bytes(register, grf_bytes)
        return size + grf_bytes if size == 31 * grf_bytes else size  # dumps show 32 registers as 31
    for suffix in i.suffixes:
        found = _DATA.match(suffix)
        if found:
            size = int(found[1]) // 8 * int(found[2] or 1)
            return size if found[3] else size * i.lanes
    raise IsaError(f"line {i.line}: {i.op}.{'.'.join(i.suffixes)} does not say what it moves")


def _by_comment(i: Instruction, grf_bytes: int) -> Traffic:
    """The traffic of a message without mnemonic (send.dc0, all of Xe3), from its comment `wr:1h+1,
    rd:4; name`."""
    found = re.search(r"wr:(\d+)h?\+(\d+), rd:(\d+); (.*)", i.comment)
    if not found or re.search(r"\b(fence|end of thread|barrier)\b", found[4]):
        return Traffic()
    written, read = int(found[2]) * grf_bytes, int(found[3]) * grf_bytes
    spill = int(_is_spill(i))
    slm = read if "slm" in i.suffixes or "slm" in i.comment.lower() else 0
    if read == 31 * grf_bytes and "block2d" in found[4]:
        read += grf_bytes  # the dump shows 32 registers as 31
    if read:
        return Traffic(loaded=read, loads=1, spill=spill, slm_loaded=slm)
    if written:
        return Traffic(stored=written, stores=1, spill=spill)
    return Traffic(prefetches=int(found[4].startswith("load")))


def _is_spill(i: Instruction) -> bool:
    return bool(re.search(r"\b(fill from|spill to|scratch block)\b", i.comment))


def traffic(i: Instruction, grf_bytes: int) -> Traffic:
    if pipe_of(i) is not Pipe.SEND:
        return Traffic()
    spill = int(_is_spill(i))
    if i.op.startswith("load"):
        if re.match(r"null\b", i.operands):
            return Traffic(prefetches=1)
        loaded = _lsc_bytes(i, grf_bytes)
        return Traffic(loaded=loaded, loads=1, spill=spill, slm_loaded=loaded if "slm" in i.suffixes else 0)
    if i.op.startswith("store"):
        return Traffic(stored=_lsc_bytes(i, grf_bytes), stores=1, spill=spill)
    if i.op.startswith("send"):
        return _by_comment(i, grf_bytes)
    return Traffic(stores=1)
