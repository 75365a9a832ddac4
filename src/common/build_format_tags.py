# SPDX-License-Identifier: Apache-2.0
"""Write the names of the format tags as a C array, in the order of their values:
build_format_tags.py HEADER OUT. Other names of the same values are left out.
"""

import re
import sys
from pathlib import Path


def main(header: str, out: str) -> None:
    text = Path(header).read_text(encoding="utf-8")
    tags = {int(value): name for name, value in re.findall(r"\bzemm_(\w+) = (\d+)", text)}
    last = max(tags)
    missing = sorted(set(range(last)) - tags.keys())
    if missing or tags.pop(last) != "format_tag_last":
        sys.exit(f"{header}: no tag has the values {missing}, or format_tag_last is not the last one")
    names = (tags[value].removeprefix("format_tag_") for value in range(last))
    Path(out).write_text("".join(f'"{name}",\n' for name in names), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
