# SPDX-License-Identifier: Apache-2.0
"""Parses what llvm-objdump prints of an object file: functions of basic blocks of instructions.

An instruction is a line `address: mnemonic operands # comment`, in AT&T syntax. A jump names the
address that it goes to. A block begins where a jump goes to, and after each jump. Where a switch may
go is not known: its blocks have no predecessors.
"""

import re
from dataclasses import dataclass, field

from judge.errors import IsaError


@dataclass(frozen=True)
class Instruction:
    address: int
    op: str
    operands: str

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


def _instruction(address: str, text: str) -> Instruction:
    text = re.sub(r"\s*(?:#.*|<[^>]*>)$", "", text)
    prefix = re.match(r"\{\w+\}\s+", text)  # of the encoding, as {vex}
    op, _, operands = text[prefix.end() if prefix else 0 :].partition("\t")
    name = (prefix[0].strip() + " " if prefix else "") + op.strip()
    return Instruction(int(address, 16), name, operands.strip())


def _blocks(instructions: list[Instruction]) -> list[Block]:
    starts = {i.target for i in instructions}
    blocks: list[Block] = []
    open_block = False
    for i in instructions:
        if not open_block and i.address not in starts and i.op.startswith("nop"):
            continue  # padding, which would seem to be another way into the block behind it
        if not open_block or i.address in starts:
            blocks.append(Block(f"{i.address:x}", []))
        blocks[-1].instructions.append(i)
        open_block = i.falls_through and not i.op.startswith("j")
    names = {block.name for block in blocks}
    for block, behind in zip(blocks, [*blocks[1:], None], strict=True):
        last = block.instructions[-1]
        if last.target is not None and f"{last.target:x}" in names:
            block.successors.append(f"{last.target:x}")
        if behind and last.falls_through and behind.name not in block.successors:
            block.successors.append(behind.name)
    return blocks


def parse(text: str) -> list[Function]:
    """The functions in a disassembly (llvm-objdump -d). IsaError if there are none."""
    found: list[tuple[str, list[Instruction]]] = []
    for line in text.splitlines():
        if function := _FUNCTION.match(line):
            found.append((function[1], []))
        elif found and (instruction := _INSTRUCTION.match(line)):
            found[-1][1].append(_instruction(instruction[1], instruction[2]))
    if not any(instructions for _, instructions in found):
        raise IsaError("the disassembly has no functions (lines such as '0000000000000000 <matmul>:')")
    return [Function(name, _blocks(instructions)) for name, instructions in found if instructions]
