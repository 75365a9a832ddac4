# SPDX-License-Identifier: Apache-2.0
"""Parses what llvm-objdump prints of an object file: functions of basic blocks of instructions.

An instruction is a line `address: mnemonic operands # comment`, in AT&T syntax. A jump names the
address that it goes to. A switch jumps to an address from a table, `jmpq *(%base,%index,8)`: the
relocations of the object file have the contents of the tables, and where a register is set to the
beginning of one. A block begins where a jump goes to, and after each jump.
"""

import re
from dataclasses import dataclass, field, replace

from zemm.isa.errors import IsaError


@dataclass(frozen=True)
class Instruction:
    address: int
    op: str
    operands: str
    symbol: str = ""  # that the linker fills in, as .rodata+0x70

    @property
    def target(self) -> int | None:
        """The address that a jump goes to. None for other instructions, and for jumps to an address
        in a register."""
        found = re.match(r"0x([0-9a-f]+)", self.operands)
        return int(found[1], 16) if self.op.startswith("j") and found else None

    @property
    def is_call(self) -> bool:
        return self.op.startswith("call")

    @property
    def falls_through(self) -> bool:
        """Whether the next instruction may be executed after it."""
        return self.op not in ("jmp", "jmpq", "ret", "retq", "ud2")

    @property
    def memory(self) -> str:
        """The memory operand, or '' if there is none."""
        found = _MEMORY.search(self.operands)
        return found[0] if found and not self.op.startswith(("lea", "nop")) else ""

    @property
    def stored_vector(self) -> int:
        """The bytes of a vector that is stored; 0 for other instructions, and for fixed places of the
        stack."""
        found = re.match(r"%([xyz])mm\d+, ", self.operands)
        if not found or not self.op.startswith("vmov") or not self.operands.endswith(self.memory or " "):
            return 0
        return 0 if "(%rsp)" in self.memory else {"x": 16, "y": 32, "z": 64}[found[1]]


@dataclass
class Block:
    name: str
    instructions: list[Instruction]
    successors: list[str] = field(default_factory=list)


@dataclass
class Function:
    name: str
    blocks: list[Block]

    @property
    def has_frame(self) -> bool:
        """Whether rbp points to the stack."""
        first = self.blocks[0].instructions if self.blocks else []
        return any(i.op == "movq" and i.operands == "%rsp, %rbp" for i in first)


_MEMORY = re.compile(r"(?:%[a-z]s:)?(?:-?0x[0-9a-f]+|-?\d+)?\((?:%\w+)?(?:,%\w+(?:,\d)?)?\)(?:\{1to\d+\})?")
_FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
_INSTRUCTION = re.compile(r"^\s*([0-9a-f]+):\s+([^\sR].*)$")
_RELOCATION = re.compile(r"^\s*([0-9a-f]+):?\s+R_X86_64_\w+\s+(\S+)$")
_SWITCH = re.compile(r"\*\((%\w+),%\w+,8\)")
_TABLES = ".rodata"  # the section of the tables


def _offset(symbol: str, section: str) -> int | None:
    """The offset of a place like .rodata+0x70 in its section. None if it is of another one."""
    name, _, offset = symbol.partition("+")
    return int(offset or "0", 16) if name == section else None


def _tables(text: str) -> dict[int, int]:
    """The addresses that the tables of switches hold, by their places in the section."""
    found: dict[int, int] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("RELOCATION RECORDS"):
            inside = f"[{_TABLES}]" in line
        elif inside and (relocation := _RELOCATION.match(line)):
            target = re.fullmatch(r"\.l?text(?:\+0x([0-9a-f]+))?", relocation[2])
            if target:
                found[int(relocation[1], 16)] = int(target[1] or "0", 16)
    return found


def _instruction(address: str, text: str) -> Instruction:
    text = re.sub(r"\s*(?:#.*|<[^>]*>)$", "", text)
    prefix = re.match(r"\{\w+\}\s+", text)  # of the encoding, as {vex}
    op, _, operands = text[prefix.end() if prefix else 0 :].partition("\t")
    name = (prefix[0].strip() + " " if prefix else "") + op.strip()
    return Instruction(int(address, 16), name, operands.strip())


def _switches(instructions: list[Instruction], tables: dict[int, int]) -> dict[int, list[int]]:
    """Where the switches of a function may go, by their addresses. A table ends where the next one
    begins."""
    begins = {_offset(i.symbol, _TABLES) for i in instructions if i.symbol}
    result: dict[int, list[int]] = {}
    held: dict[str, int] = {}  # the beginning of the table to which a register was set last
    for i in instructions:
        begin = _offset(i.symbol, _TABLES)
        if begin is not None:
            held[i.operands.rsplit(" ", 1)[-1]] = begin
        found = _SWITCH.match(i.operands) if i.op == "jmpq" else None
        if found and found[1] in held:
            at = held[found[1]]
            targets = []
            while at in tables and (at == held[found[1]] or at not in begins):
                targets.append(tables[at])
                at += 8
            result[i.address] = targets
    return result


def _blocks(instructions: list[Instruction], tables: dict[int, int]) -> list[Block]:
    switches = _switches(instructions, tables)
    starts = {i.target for i in instructions} | {t for targets in switches.values() for t in targets}
    blocks: list[Block] = []
    open_block = False
    for i in instructions:
        if not open_block or i.address in starts:
            blocks.append(Block(f"{i.address:x}", []))
        blocks[-1].instructions.append(i)
        open_block = i.falls_through and not i.op.startswith("j")
    names = {block.name for block in blocks}
    for block, behind in zip(blocks, [*blocks[1:], None], strict=True):
        last = block.instructions[-1]
        targets = switches.get(last.address, [] if last.target is None else [last.target])
        block.successors = [name for name in dict.fromkeys(f"{t:x}" for t in targets) if name in names]
        if behind and last.falls_through and behind.name not in block.successors:
            block.successors.append(behind.name)
    return _reachable(blocks)


def _reachable(blocks: list[Block]) -> list[Block]:
    """The blocks without padding between them, into which nothing jumps."""
    by_name = {block.name: block for block in blocks}
    found: set[str] = set()
    pending = [blocks[0].name]
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += by_name[name].successors
    return [block for block in blocks if block.name in found]


def parse(text: str, relocations: str = "") -> list[Function]:
    """The functions in a disassembly with its relocations (llvm-objdump -d -r). IsaError if there
    are none.

    relocations: those of the whole object file (llvm-objdump -r), for the tables of switches.
    """
    found: list[tuple[str, list[Instruction]]] = []
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            found.append((function[1], []))
        elif found and (relocation := _RELOCATION.match(line)):
            if found[-1][1]:
                found[-1][1][-1] = replace(found[-1][1][-1], symbol=relocation[2])
        elif found and (instruction := _INSTRUCTION.match(line)):
            found[-1][1].append(_instruction(instruction[1], instruction[2]))
    if not any(instructions for _, instructions in found):
        raise IsaError("the disassembly has no functions (lines such as '0000000000000000 <matmul>:')")
    tables = _tables(relocations)
    return [Function(name, _blocks(instructions, tables)) for name, instructions in found if instructions]
