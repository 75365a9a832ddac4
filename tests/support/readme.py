# SPDX-License-Identifier: Apache-2.0
"""The README's code blocks and its C program, for the tests that run them."""

import re

from support_tree import ROOT


def blocks(section: str, name: str = "README.md") -> list[tuple[str, str]]:
    """(language, text) of each fenced block of a section, given by its heading."""
    text = (ROOT / name).read_text(encoding="utf-8")
    parts = re.split(r"(?m)^## (.*)\n", text)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert section in sections, f"{name} has no section {section!r}: {sorted(sections)}"
    return re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", sections[section])


def block(section: str, language: str, page: str = "README.md") -> str:
    """The text of the only block of a section of a page in a language."""
    (found,) = [text for name, text in blocks(section, page) if name == language]
    return found


def c_program() -> str:
    """The program that the README compiles."""
    return (ROOT / "examples" / "matmul.c").read_text(encoding="utf-8")
