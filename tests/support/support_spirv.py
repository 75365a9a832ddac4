# SPDX-License-Identifier: Apache-2.0
"""Writes values of specialisation constants into a SPIR-V module.

zeModuleCreate() takes such values, but ocloc takes only a module and uses the defaults of its
constants. So the defaults are replaced; the rest of the module is unchanged.
"""

import struct
from collections.abc import Iterator, Mapping

_MAGIC = 0x07230203
_DECORATE, _SPEC_ID = 71, 1
_TRUE, _FALSE, _CONSTANT = 48, 49, 50  # OpSpecConstantTrue, OpSpecConstantFalse, OpSpecConstant


def _words(module: bytes) -> list[int]:
    words = list(struct.unpack(f"<{len(module) // 4}I", module))
    assert words[0] == _MAGIC
    return words


def _instructions(words: list[int]) -> Iterator[tuple[int, int, int]]:
    """For each instruction: opcode, index of its first word, number of words."""
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        assert length, f"word {at} of the SPIR-V module begins an instruction of no words"
        yield opcode, at, length
        at += length


def spec_ids(module: bytes) -> dict[int, int]:
    """SpecIds of the specialisation constants by result id."""
    words = _words(module)
    return {
        words[at + 1]: words[at + 3]
        for opcode, at, length in _instructions(words)
        if opcode == _DECORATE and length >= 4 and words[at + 2] == _SPEC_ID
    }


def specialised(module: bytes, constants: Mapping[int, int]) -> bytes:
    """The module with these values (by SpecId) as defaults, each of 32 bits or a boolean. Values for
    constants that it lacks are ignored."""
    words, ids = _words(module), spec_ids(module)
    for opcode, at, length in _instructions(words):
        if opcode not in (_TRUE, _FALSE, _CONSTANT) or ids.get(words[at + 2]) not in constants:
            continue
        value = constants[ids[words[at + 2]]]
        if opcode == _CONSTANT:
            words[at + 3] = value & 0xFFFFFFFF
        else:
            words[at] = length << 16 | (_TRUE if value else _FALSE)
    return struct.pack(f"<{len(words)}I", *words)
