# SPDX-License-Identifier: Apache-2.0
"""Writes values of specialisation constants into a SPIR-V module.

zeModuleCreate() takes such values, but ocloc takes only a module and uses the defaults of its
constants. So the defaults are replaced; the rest of the module is unchanged.
"""

import struct
from collections.abc import Iterator, Mapping

from zemm.isa.errors import IsaError

_MAGIC = 0x07230203
_DECORATE, _SPEC_ID = 71, 1
_TRUE, _FALSE, _CONSTANT = 48, 49, 50  # OpSpecConstantTrue, OpSpecConstantFalse, OpSpecConstant


def _words(module: bytes) -> list[int]:
    if len(module) < 20 or len(module) % 4:
        raise IsaError(
            f"a SPIR-V module has a header of 20 bytes and whole words, this has {len(module)} bytes"
        )
    words = list(struct.unpack(f"<{len(module) // 4}I", module))
    if words[0] != _MAGIC:
        raise IsaError(f"the file begins with 0x{words[0]:08x} and not as SPIR-V does, with 0x{_MAGIC:08x}")
    return words


def _instructions(words: list[int]) -> Iterator[tuple[int, int, int]]:
    """For each instruction: opcode, index of its first word, number of words."""
    at = 5
    while at < len(words):
        length, opcode = words[at] >> 16, words[at] & 0xFFFF
        if length == 0 or at + length > len(words):
            raise IsaError(f"the SPIR-V module is damaged: word {at} starts an instruction of {length} words")
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
    """The module with these values (by SpecId) as defaults. Values for constants that it lacks are
    ignored.

    IsaError if it is no SPIR-V module, or a constant has not 32 bits.
    """
    words, ids = _words(module), spec_ids(module)
    for opcode, at, length in _instructions(words):
        if opcode not in (_TRUE, _FALSE, _CONSTANT):
            continue
        spec_id = ids.get(words[at + 2])
        if spec_id is None or spec_id not in constants:
            continue
        value = constants[spec_id]
        if opcode == _CONSTANT:
            if length != 4:
                raise IsaError(f"the specialisation constant {spec_id} is not of 32 bits")
            words[at + 3] = value & 0xFFFFFFFF
        else:
            words[at] = length << 16 | (_TRUE if value else _FALSE)
    return struct.pack(f"<{len(words)}I", *words)
