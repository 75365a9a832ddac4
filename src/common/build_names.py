# SPDX-License-Identifier: Apache-2.0
"""Write the names of enum values as C arrays: build_names.py TYPES_HEADER TAGS_HEADER OUT.

For each zemm_X_t of TYPES_HEADER: X_rows, with a {value, name} for each member that is not X_max and no other
name of a value. format_tag_names: the names of TAGS_HEADER in the order of their values.
"""

import re
import sys
from pathlib import Path

ENUM = re.compile(r"typedef enum \{([^}]*)\} zemm_(\w+)_t;")
MEMBER = re.compile(r"\bzemm_(\w+) = (0x[0-9a-f]+|\d+)")
IRREGULAR = {"undefined_primitive": "undef", "any_engine": "any"}


def rows(kind: str, members: str) -> str:
    names = [name for name, _ in MEMBER.findall(members) if name != f"{kind}_max"]
    cells = (f'{{zemm_{name}, "{IRREGULAR.get(name, name.removeprefix(f"{kind}_"))}"}}' for name in names)
    return f"[[maybe_unused]] constexpr row {kind}_rows[] = {{{', '.join(cells)}}};\n"


def tags(text: str) -> str:
    found = {int(value, 0): name for name, value in MEMBER.findall(text)}
    last = max(found)
    missing = sorted(set(range(last)) - found.keys())
    if missing or found.pop(last) != "format_tag_last":
        sys.exit(f"no tag has the values {missing}, or format_tag_last is not the last one")
    names = ", ".join(f'"{found[value].removeprefix("format_tag_")}"' for value in range(last))
    return f"constexpr const char *format_tag_names[] = {{{names}}};\n"


def main(types_header: str, tags_header: str, out: str) -> None:
    types = re.sub(r"/\*.*?\*/", "", Path(types_header).read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = [rows(kind, members) for members, kind in ENUM.findall(types)]
    lines.append(tags(Path(tags_header).read_text(encoding="utf-8")))
    Path(out).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
