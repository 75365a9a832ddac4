# SPDX-License-Identifier: Apache-2.0
"""Write lists of X-macros as JSON, for Python: build_lists.py OUT NAME=FILE...

OUT has the rows of each FILE under NAME, in their order: {"macro": .., column: value, ..}. The
comment on a macro in the list names its columns, all in one line. yes and no become booleans. The
last column, such as a formula, may contain commas.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

COMMENT = re.compile(r"^// (ZEMM_\w+)\(([\w\s,]*)\)", re.MULTILINE)
ROW = re.compile(r"^(ZEMM_\w+)\((.*)\)(?:\s*//.*)?$", re.MULTILINE)
WORDS = {"yes": True, "no": False}


def value_of(cell: str) -> Any:
    if cell in WORDS:
        return WORDS[cell]
    if re.fullmatch(r"-?\d+|0x[0-9a-f]+", cell):
        return int(cell, 0)
    if re.fullmatch(r"0x[0-9a-f.]+p-?\d+", cell):
        return float.fromhex(cell)
    return cell.strip('"')


def rows_of(definition: Path) -> list[dict[str, Any]]:
    """The rows of a list. Ends the process with a message if a row cannot be read."""
    text = definition.read_text(encoding="utf-8")
    columns = {macro: re.findall(r"\w+", signature) for macro, signature in COMMENT.findall(text)}
    rows = []
    for match in ROW.finditer(text):
        macro = match[1]
        where = f"{definition}:{text.count(chr(10), 0, match.start()) + 1}: {macro}"
        if macro not in columns:
            sys.exit(f"{where}: no comment names its columns")
        cells = [cell.strip() for cell in match[2].split(",", len(columns[macro]) - 1)]
        if len(cells) != len(columns[macro]):
            sys.exit(f"{where} has {len(cells)} values for {len(columns[macro])} columns")
        rows.append({"macro": macro} | dict(zip(columns[macro], map(value_of, cells), strict=True)))
    if not rows or len(rows) != len(re.findall(r"^ZEMM_", text, re.MULTILINE)):
        sys.exit(f"{definition} has rows that cannot be read")
    return rows


def main() -> None:
    out, *lists = sys.argv[1:]
    named = (text.split("=", 1) for text in lists)
    parts = {name: ",\n".join(json.dumps(row) for row in rows_of(Path(file))) for name, file in named}
    body = ",\n".join(f'"{name}": [\n{rows}\n]' for name, rows in parts.items())
    Path(out).write_text(f"{{\n{body}\n}}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
