# SPDX-License-Identifier: Apache-2.0
"""Parses the assembly that Intel's graphics compiler dumps: basic blocks of instructions.

A line is `(mask) op.suffix (lanes|M0) (modifier)flag dst src.. {dependencies} // comment`. A block
begins with a line such as `// B004: Preds:{B004, B003},  Succs:{B005, B004}`. The header has the
numbers of registers and spills.
"""

import re
from dataclasses import dataclass, field

from judge.errors import IsaError


@dataclass(frozen=True)
class Instruction:
    op: str  # without its suffixes
    suffixes: tuple[str, ...]
    lanes: int
    types: tuple[str, ...]  # of the operands, destination first
    operands: str
    comment: str
    line: int

    @property
    def pipe_comment(self) -> str:
        """The pipe that newer compilers name in the comment: int, float, long or math; '' if there
        is none."""
        found = re.search(r"ALU pipe: (\w+)", self.comment)
        return found[1] if found else ""


@dataclass
class Block:
    name: str
    predecessors: tuple[str, ...]
    successors: tuple[str, ...]
    instructions: list[Instruction] = field(default_factory=list)


@dataclass
class Kernel:
    name: str
    platform: str
    grf: int
    spill: int  # bytes of a thread
    blocks: list[Block]
    code_bytes: int  # 16 for each instruction, 8 for a compacted one
    variables: list[tuple[int, int]]  # (first register, bytes), if they begin at a register


_HEADER = {
    "name": re.compile(r"^//\.kernel (\S+)", re.MULTILINE),
    "platform": re.compile(r"^//\.platform (\S+)", re.MULTILINE),
    "grf": re.compile(r"^//\.thread_config numGRF=(\d+)", re.MULTILINE),
    "spill": re.compile(r"^//\.spill size (\d+)", re.MULTILINE),
}
_VARIABLE = re.compile(r"^//\.declare .*rf=r size=(\d+) .*\(r(\d+)\.0\)", re.MULTILINE)
_BLOCK = re.compile(r"^// (B\d+):.*?Preds:\{([^}]*)\},\s+Succs:\{([^}]*)\}")
_LABEL = re.compile(r"^\S+:$")
_INSTRUCTION = re.compile(
    r"^\s*(?:\([^)]*\)\s+)?"  # mask and predicate
    r"(?P<op>[a-z][a-z0-9_]*)(?P<suffixes>(?:\.[a-z0-9_]+|\.\([^)]*\))*)"
    r"(?:\s+\((?P<lanes>\d+)\|M\d+\))?"
    r"(?P<rest>.*)$"
)
_TYPE = re.compile(r":(ub|uw|ud|uq|b|w|d|q|hf|bf8|hf8|bf|tf32|df|f|u1|u2|u4|u8|s2|s4|s8|uv|vf|v)\b")


def _instruction(text: str, number: int) -> Instruction:
    body, _, comment = text.partition("//")
    found = _INSTRUCTION.match(body.rstrip())
    if not found:
        raise IsaError(f"line {number} of the assembly is no instruction that is known: {text.strip()}")
    rest = re.sub(r"\{[^}]*\}\s*$", "", found["rest"]).strip()
    return Instruction(
        op=found["op"],
        suffixes=tuple(part for part in re.split(r"\.(?![^(]*\))", found["suffixes"]) if part),
        lanes=int(found["lanes"] or 1),
        types=tuple(_TYPE.findall(rest)),
        operands=rest,
        comment=comment.strip(),
        line=number,
    )


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def parse(text: str) -> Kernel:
    """The kernel in a dump. IsaError if the text is not such a dump."""
    header = {key: pattern.search(text) for key, pattern in _HEADER.items()}
    for key, start in (("name", "//.kernel"), ("platform", "//.platform"), ("grf", "//.thread_config")):
        if not header[key]:
            raise IsaError(f"the assembly has no line {start} in its header")
    blocks: list[Block] = []
    for number, line in enumerate(text.splitlines(), 1):
        block = _BLOCK.match(line)
        if block:
            blocks.append(Block(block[1], _names(block[2]), _names(block[3])))
            continue
        if not blocks or not line.strip() or line.startswith("//") or _LABEL.match(line):
            continue
        blocks[-1].instructions.append(_instruction(line, number))
    if not blocks:
        raise IsaError("the assembly has no basic blocks (lines such as '// B000: Preds:{},  Succs:{B001}')")
    value = {key: found[1] if found else "0" for key, found in header.items()}
    instructions = sum(len(block.instructions) for block in blocks)
    code_bytes = 16 * instructions - 8 * len(re.findall(r"[{,]Compacted[,}]", text))
    grf, spill = int(value["grf"]), int(value["spill"])
    variables = [(int(register), int(size)) for size, register in _VARIABLE.findall(text)]
    return Kernel(value["name"], value["platform"], grf, spill, blocks, code_bytes, variables)
