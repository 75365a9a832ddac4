# SPDX-License-Identifier: Apache-2.0
"""Prints a header of zemm with doxygen's marks (doxygen calls it): comments before a declaration
become `/**`, those behind a value `/**<`.

In the headers a comment is for all declarations up to the next comment or blank line. Here it is
repeated for each.
"""

import re
import sys
from pathlib import Path

PLAIN = re.compile(r'/\* (---- |clang-format)|#(?!define \w+.* .)|extern "C"|\}|$')


def marked(header: Path) -> str:
    """The text of a header with the marks."""
    # Doxygen reads <letter> as HTML.
    text = re.sub(r"(?<!include )<(?=\w+>)", r"\\<", header.read_text(encoding="utf-8"))
    licence, *lines = text.splitlines()
    # The comment after the licence describes the file.
    result = [f"/** @file {header.name}"]
    doc = [lines.pop(0).replace("/*", " *", 1)]
    result += doc
    in_comment, in_declaration, depth = not doc[0].endswith("*/"), False, 0
    for line in lines:
        if in_comment or (line.startswith("/* ") and not PLAIN.match(line)):
            doc = [*doc, line] if in_comment else [line]
            result.append(line if in_comment else line.replace("/*", "/**", 1))
            in_comment = not line.endswith("*/")
        elif in_declaration or not PLAIN.match(line):
            code = re.sub(r"/\*.*?\*/$", "", line).rstrip()
            if doc and not in_declaration and not result[-1].endswith("*/"):
                result.append("/** " + " ".join(part.strip(" /*") for part in doc) + " */")
            result.append(re.sub(r"/\* (.*?) \*/$", r"/**< \1 */", line))
            depth += line.count("{") - line.count("}")
            in_declaration = depth > 0 or not (line.startswith("#") or code.endswith(";"))
        else:
            doc = []
            result.append(line)
    return "\n".join(result) + "\n"


if __name__ == "__main__":
    sys.stdout.write(marked(Path(sys.argv[1])))
