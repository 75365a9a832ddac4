# SPDX-License-Identifier: Apache-2.0
"""spirv_grammar.py OUT CORE SET...: writes the tables of spirv_grammar.h from Khronos' JSON grammars.

CORE is the grammar of the core instructions, each SET that of an instruction set for OpExtInst.
"""

import json
import sys
from pathlib import Path
from typing import Any

# Classes of instructions that belong in function bodies, and whose ids are values. Only OpVariable
# may stand outside, too (spirv_check.cpp).
ON_VALUES = [
    "Arithmetic",
    "Atomic",
    "Barrier",
    "Bit",
    "Composite",
    "Conversion",
    "Derivative",
    "Group",
    "Image",
    "Memory",
    "Non-Uniform",
    "Pipe",
    "Primitive",
    "Relational_and_Logical",
]
KINDS = {
    "IdResultType": "result_type",
    "IdResult": "result",
    "IdScope": "integer_id",
    "IdMemorySemantics": "integer_id",
    "LiteralString": "string",
    "LiteralContextDependentNumber": "number",
    "LiteralSpecConstantOpInteger": "opcode",
    "LiteralExtInstInteger": "set_opcode",
}
# The names by which modules import the sets.
SETS = {
    "extinst.opencl.std.100": ["OpenCL.std"],
    "extinst.opencl.debuginfo.100": ["OpenCL.DebugInfo.100", "SPIRV.debug"],
}
# Instructions whose shapes were wrong in the grammars of some years.
LEFT_OUT = (
    "OpAsmTargetINTEL",
    "OpArbitraryFloat",
    "OpFixed",
    "OpFPGAReg",
    "OpReadPipeBlocking",
    "OpWritePipeBlocking",
)
# Enumerations of which any value is accepted: the OpenCL runtime says itself which ones it takes.
OPEN = ["Capability", "LinkageType"]
TIMES = {None: "once", "?": "optional", "*": "any"}


class Tables:
    """Makes rows of C++ tables. The rows of all tables share the rows of `operands`."""

    def __init__(self, grammar: dict[str, Any]) -> None:
        self.grammar = grammar
        self.kinds = {kind["kind"]: kind for kind in grammar["operand_kinds"]}
        self.enums = [name for name, kind in self.kinds.items() if "enumerants" in kind]
        self.operands: list[str] = []

    def kind(self, name: str) -> str:
        if name in self.enums:
            return f"first_enum + {self.enums.index(name)}"
        is_id = self.kinds.get(name, {}).get("category") == "Id"  # kinds of sets are literals
        return KINDS.get(name, "id" if is_id else "literal")

    def add(self, operands: list[dict[str, str]]) -> str:
        """Adds rows for these operands. Returns the first one's index and their number, as C++."""
        first = len(self.operands)
        for operand in operands:
            times = TIMES[operand.get("quantifier")]
            parts = self.kinds.get(operand["kind"], {}).get("bases", [operand["kind"]])
            if operand["kind"] == "PairLiteralIntegerIdRef":  # of OpSwitch, as wide as its selector
                parts = ["LiteralContextDependentNumber", "IdRef"]
            for part in parts:
                self.operands.append(f"{{{self.kind(part)}, Times::{times}}},")
                times = "with_last"
        return f"{first}, {len(self.operands) - first}"

    def of_enums(self) -> tuple[list[str], list[str]]:
        kinds, enumerants = [], []
        for name in self.enums:
            values: dict[int, str] = {}
            for row in self.kinds[name]["enumerants"]:
                value = int(str(row["value"]), 0)
                if value not in values:  # the others are aliases
                    values[value] = self.add(row.get("parameters", []))
            form = (
                "mask" if self.kinds[name]["category"] == "BitEnum" else "open" if name in OPEN else "closed"
            )
            kinds.append(f"{{EnumKind::{form}, {len(enumerants)}, {len(values)}}}, // {name}")
            enumerants += [f"{{{value}u, {values[value]}}}," for value in sorted(values)]
        return kinds, enumerants

    def of_instructions(self, grammar: dict[str, Any]) -> list[str]:
        rows: dict[int, str] = {}
        for row in grammar["instructions"]:
            name, operands = row["opname"], row.get("operands", [])
            has_result = any(operand["kind"] == "IdResult" for operand in operands)
            group = "on_values" if row.get("class") in ON_VALUES else "other"
            if has_result and name.startswith("OpType"):
                group = "type"
            elif has_result and name.startswith(("OpConstant", "OpSpecConstant")):
                group = "constant"
            if row["opcode"] not in rows and not name.startswith(LEFT_OUT):
                rows[row["opcode"]] = f"{{{row['opcode']}, Group::{group}, {self.add(operands)}}}, // {name}"
        return [rows[opcode] for opcode in sorted(rows)]


def main(out: Path, core: Path, *set_files: Path) -> None:
    grammar = json.loads(core.read_text())
    tables = Tables(grammar)
    instructions, (kinds, enumerants) = tables.of_instructions(grammar), tables.of_enums()
    sets: list[str] = []
    of_sets: list[str] = []
    for file in set_files:
        rows = tables.of_instructions(json.loads(file.read_text()))
        for name in SETS[file.name.removesuffix(".grammar.json")]:
            sets.append(f'{{"{name}", {len(of_sets)}, {len(rows)}}},')
        of_sets += rows
    lines = ['#include "spirv/spirv_grammar.h"', "", "namespace ze_cpu::spirv {"]
    for declaration, rows in {
        "Operand operands": tables.operands,
        "InstructionShape instructions": instructions,
        "InstructionShape set_instructions": of_sets,
        "InstructionSet sets": sets,
        "EnumKind enum_kinds": kinds,
        "Enumerant enumerants": enumerants,
    }.items():
        lines += [f"const {declaration}[] = {{", *rows, "};"]
    lines.append(f"const size_t instruction_count = {len(instructions)};")
    lines.append(f"const size_t set_count = {len(sets)};")
    lines += ["} // namespace ze_cpu::spirv", ""]
    out.write_text("\n".join(lines))


main(*(Path(argument) for argument in sys.argv[1:]))
