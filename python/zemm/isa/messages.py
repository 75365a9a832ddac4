# SPDX-License-Identifier: Apache-2.0
"""Bytes that the messages (sends) of a loop bring into registers or write, per thread."""

import re
from dataclasses import dataclass

from zemm.isa.assembly import Instruction
from zemm.isa.errors import IsaError
from zemm.isa.pipes import Pipe, pipe_of


@dataclass
class Traffic:
    loaded: int = 0  # bytes into registers
    stored: int = 0
    loads: int = 0  # messages
    stores: int = 0
    prefetches: int = 0
    spill: int = 0  # of the above, messages that save or restore registers
    slm_loaded: int = 0  # of loaded, from shared local memory

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
    """Elements times lanes, or once where it is a block (t). 2-D blocks: the registers."""
    operands = i.operands.split()
    register = next((o for o in operands if re.match(r"^r\d+:\d+$", o)), "")
    if "block2d" in i.op:
        size = _register_bytes(register, grf_bytes)
        return size + grf_bytes if size == 31 * grf_bytes else size  # 32 registers are written as 31
    for suffix in i.suffixes:
        found = _DATA.match(suffix)
        if found:
            size = int(found[1]) // 8 * int(found[2] or 1)
            return size if found[3] else size * i.lanes
    raise IsaError(f"line {i.line}: {i.op}.{'.'.join(i.suffixes)} does not say what it moves")


def _by_comment(i: Instruction, grf_bytes: int) -> Traffic:
    """send.dc0 and the like, and every message of Xe3: the comment has `wr:1h+1, rd:4; name`."""
    found = re.search(r"wr:(\d+)h?\+(\d+), rd:(\d+); (.*)", i.comment)
    if not found or re.search(r"\b(fence|end of thread|barrier)\b", found[4]):
        return Traffic()
    written, read = int(found[2]) * grf_bytes, int(found[3]) * grf_bytes
    spill = int(_is_spill(i))
    slm = read if "slm" in i.suffixes or "slm" in i.comment.lower() else 0
    if read == 31 * grf_bytes and "block2d" in found[4]:
        read += grf_bytes  # 32 registers are written as 31
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
