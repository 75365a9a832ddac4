# SPDX-License-Identifier: Apache-2.0
"""Tells which pipe of a vector engine (XVE) runs an instruction, and how wide its elements are."""

import re
from enum import Enum

from judge.assembly import Instruction
from judge.errors import IsaError


class Pipe(Enum):
    XMX = "XMX"
    FLOAT = "float"
    INT = "int"
    MATH = "math"
    LONG = "long"  # f64, and 64-bit integers where the compiler says so
    SEND = "send"
    BRANCH = "branch"
    SYNC = "sync"  # waits, which use no pipe


_XMX = {"dpas", "dpasw"}
_SEND = {
    "send", "sendc", "sends", "sendsc", "load", "store", "load_block2d", "store_block2d", "load_strided",
    "store_strided", "load_block", "store_block", "load_quad", "store_quad", "load_status",
    "atomic_iinc", "atomic_iadd", "atomic_fadd", "atomic_ior", "atomic_icas", "fence",
}  # fmt: skip
_BRANCH = {
    "jmpi", "goto", "join", "if", "else", "endif", "while", "break", "cont", "halt", "brd", "brc", "call",
    "calla", "ret",
}  # fmt: skip
CALLS = {"call", "calla"}
_SYNC = {"sync", "nop", "wait", "illegal"}
_ALU = {
    "mov", "movi", "sel", "not", "and", "or", "xor", "shr", "shl", "smov", "asr", "ror", "rol", "cmp", "cmpn",
    "csel", "bfrev", "bfe", "bfi1", "bfi2", "bfn", "add", "mul", "avg", "frc", "rndu", "rndd", "rnde", "rndz",
    "mac", "mach", "macl", "lzd", "fbh", "fbl", "cbit", "addc", "subb", "sad2", "sada2", "dp4", "dph", "dp3",
    "dp2", "dp4a", "line", "pln", "mad", "madm", "madw", "lrp", "add3", "srnd",
}  # fmt: skip
DOTS = {"dpas", "dpasw", "dp4a"}
MULTIPLIES = {"mul", "mac", "mach", "macl", "mad", "madw"}
_FLOATS = {"f", "hf", "bf", "bf8", "hf8", "tf32", "vf"}

BITS = {
    "df": 64, "q": 64, "uq": 64, "f": 32, "d": 32, "ud": 32, "tf32": 32, "vf": 32, "v": 16, "uv": 16,
    "hf": 16, "bf": 16, "w": 16, "uw": 16, "b": 8, "ub": 8, "bf8": 8, "hf8": 8, "s8": 8, "u8": 8,
    "s4": 4, "u4": 4, "s2": 2, "u2": 2, "u1": 1,
}  # fmt: skip

_COMMENTED = {"int": Pipe.INT, "float": Pipe.FLOAT, "long": Pipe.LONG, "math": Pipe.MATH}


def by_opcode(i: Instruction) -> Pipe:
    """The pipe by opcode and type of the destination, as the compiler itself decides for
    dependencies."""
    if i.op in _XMX:
        return Pipe.XMX
    if i.op in _SEND or i.op.startswith("atomic"):
        return Pipe.SEND
    if i.op in _BRANCH:
        return Pipe.BRANCH
    if i.op in _SYNC:
        return Pipe.SYNC
    if i.op == "math":
        return Pipe.MATH
    if i.op not in _ALU:
        raise IsaError(
            f"line {i.line} of the assembly has the opcode {i.op!r}, of which the model knows no pipe: "
            "tests/isa/judge/pipes.py has the list"
        )
    destination = i.types[0] if i.types else ""
    if "df" in i.types[:1]:
        return Pipe.LONG
    return Pipe.FLOAT if destination in _FLOATS else Pipe.INT


def pipe_of(i: Instruction) -> Pipe:
    """The pipe that the compiler names in its comment, else that of by_opcode()."""
    pipe = by_opcode(i)
    if pipe in (Pipe.INT, Pipe.FLOAT, Pipe.LONG, Pipe.MATH) and i.pipe_comment:
        if i.pipe_comment not in _COMMENTED:
            raise IsaError(f"line {i.line} of the assembly names the unknown pipe {i.pipe_comment!r}")
        return _COMMENTED[i.pipe_comment]
    return pipe


def widest(i: Instruction) -> int:
    """The bits of the widest element that the instruction reads or writes."""
    return max((BITS[t] for t in i.types), default=32)


def repeat_count(i: Instruction) -> int:
    """The rows of a DPAS (R of dpas.8xR); 1 for a DP4A."""
    if i.op == "dp4a":
        return 1
    found = re.fullmatch(r"8x(\d+)", i.suffixes[0] if i.suffixes else "")
    if not found or not 1 <= int(found[1]) <= 8:
        raise IsaError(f"line {i.line}: {i.op} without a shape that is known (dpas.8xR, R from 1 to 8)")
    return int(found[1])


def is_filler(i: Instruction) -> bool:
    """Whether this is a DPAS of a register with itself. Newer compilers put them before others on
    Xe-HPG; they take time but do no work."""
    if i.op == "dp4a":
        return False
    result, start, *factors = i.operands.split()[:4]
    register = re.match(r"r\d+", result)
    return (
        register is not None
        and start.startswith("null")
        and all(re.match(rf"{register[0]}\b", factor) for factor in factors)
    )


def dpas_depth(i: Instruction) -> int:
    """The elements of K of a DPAS: 8 channels of 32 bits, each with as many elements of the wider
    operand as fit.

    For 4-bit and narrower types a channel has 8. A DP4A has one channel of four bytes.
    """
    if i.op == "dp4a":
        return 4
    if len(i.types) != 4:
        raise IsaError(f"line {i.line}: {i.op} has {len(i.types)} operand types instead of 4: {i.operands}")
    bits = max(BITS[t] for t in i.types[2:])
    return 8 * (8 if bits <= 4 else 32 // bits)
