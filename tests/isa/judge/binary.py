# SPDX-License-Identifier: Apache-2.0
"""Reads the sizes of a kernel's code and private memory from a native binary (zebin, an ELF
file)."""

import re
import struct
from pathlib import Path

_HEADER = struct.Struct("<40xQ10xHHH")  # e_shoff, e_shentsize, e_shnum, e_shstrndx
_SECTION = struct.Struct("<I20xQQ")  # sh_name, sh_offset, sh_size


def sections(path: Path) -> dict[str, bytes]:
    """The contents of the sections of a 64-bit ELF file by name. Empty for other files."""
    return sections_of(path.read_bytes())


def sections_of(data: bytes) -> dict[str, bytes]:
    if data[:5] != b"\x7fELF\x02" or len(data) < 64:
        return {}
    start, size, number, names_at = _HEADER.unpack_from(data)
    if number == 0 or names_at >= number or start + size * number > len(data) or size < _SECTION.size:
        return {}
    found = [_SECTION.unpack_from(data, start + size * i) for i in range(number)]
    names = data[found[names_at][1] :]
    return {
        names[name:].split(b"\0", 1)[0].decode("latin-1"): data[offset : offset + length]
        for name, offset, length in found
    }


def code_size(found: dict[str, bytes], kernel: str) -> int | None:
    """The bytes of a kernel's code, including padding. None if the binary does not have the
    kernel."""
    code = found.get(f".text.{kernel}")
    return None if code is None else len(code)


def private_size(found: dict[str, bytes], kernel: str) -> int | None:
    """The bytes of a kernel's private memory, from the YAML text in the section .ze_info. None if
    not known."""
    if ".ze_info" not in found:
        return None
    text = found[".ze_info"].decode("latin-1")
    entry = re.search(rf"\n  - name: +{re.escape(kernel)}\n(.*?)(?=\n  - name:|\n\S|$)", text, re.DOTALL)
    if not entry:
        return None
    return sum(int(size) for size in re.findall(r"usage: +private_space\s+size: +(\d+)", entry[1]))
