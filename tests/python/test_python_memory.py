# SPDX-License-Identifier: Apache-2.0
"""Arrays in memories: data written has the type, shape and order of the descriptor, or is
refused.
"""

import ctypes
from collections.abc import Callable

import numpy as np
import pytest
import zemm

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)
MD = zemm.MemoryDesc((3, 4), "f32")


def row_major(engine: zemm.Engine, memory: zemm.Memory, data_type: str) -> np.ndarray:
    """The tensor's elements in row-major order, read by a reorder of the library."""
    return zemm.reorder(memory, zemm.MemoryDesc(memory.md.dims, data_type)).as_numpy()


LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "row-major": np.ascontiguousarray,
    "column-major": np.asfortranarray,
    "with gaps": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "read-only": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
}
DESCRIPTORS = {
    "ab": zemm.MemoryDesc((3, 4), "f32", "ab"),
    "ba": zemm.MemoryDesc((3, 4), "f32", "ba"),
    "gaps": zemm.MemoryDesc((3, 4), "f32", strides=(7, 1)),
    "part": zemm.MemoryDesc((5, 6), "f32").submemory((3, 4), (1, 2)),
    "part of ba": zemm.MemoryDesc((5, 6), "f32", "ba").submemory((3, 4), (2, 1)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("md", DESCRIPTORS.values(), ids=DESCRIPTORS)
def test_write_from_any_order(engine: zemm.Engine, md: zemm.MemoryDesc, layout: str) -> None:
    """Each element is written to its place, and the gaps between the elements keep their bytes."""
    memory = zemm.Memory(md, engine)
    memory.write(np.full(md.size, 0x5A, np.uint8))
    values = LAYOUTS[layout](VALUES)
    memory.write(values)
    assert np.array_equal(row_major(engine, memory, "f32"), values)
    assert np.count_nonzero(memory.read().view(np.uint32) == 0x5A5A5A5A) == md.size // 4 - 12


@pytest.mark.parametrize("tag", ["abc", "acb", "bca", "cab"])
def test_three_dimensions(engine: zemm.Engine, tag: str) -> None:
    """Written, and in place."""
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    md, order = zemm.MemoryDesc((2, 3, 4), "s8", tag), [ord(letter) - 97 for letter in tag]
    written = zemm.Memory(md, engine)
    written.write(values)
    back = values.transpose(order).copy().transpose(np.argsort(order))
    in_place = zemm.Memory(md, engine, back)
    assert in_place.handle == back.ctypes.data
    for memory in (written, in_place):
        assert np.array_equal(row_major(engine, memory, "s8"), values)


TYPES = ["f32", "f16", "bf16", "s8", "u8", "s32", "f64", "s64", "f8_e5m2", "f8_e4m3", "e8m0"]


@pytest.mark.parametrize("name", TYPES)
def test_types(engine: zemm.Engine, name: str) -> None:
    """An array of a type can be written only to a memory of the same type."""
    values = np.exp2(VALUES % 4).astype(zemm.numpy_dtype(name))
    for other in TYPES:
        memory = zemm.Memory(zemm.MemoryDesc((3, 4), other), engine)
        if other == name:
            memory.write(values)
            assert np.array_equal(memory.as_numpy(), values)
            zemm.Memory(memory.md, engine, values)
            continue
        words = rf"type {values.dtype}, .* {zemm.numpy_dtype(other)}:"
        with pytest.raises(ValueError, match=words):
            memory.write(values)
        with pytest.raises(ValueError, match=words):
            zemm.Memory(memory.md, engine, values)


def test_in_place(engine: zemm.Engine) -> None:
    for md, values in ((MD, VALUES.copy()), (DESCRIPTORS["ba"], np.asfortranarray(VALUES))):
        memory = zemm.Memory(md, engine, values)
        assert memory.handle == values.ctypes.data
        assert np.array_equal(row_major(engine, memory, "f32"), VALUES)
    # The stride of a dimension of size 1 has no meaning.
    row = np.zeros((4, 9), np.float32)[::4, :]
    assert row.shape == (1, 9)
    assert zemm.Memory(zemm.MemoryDesc((1, 9), "f32"), engine, row).handle == row.ctypes.data
    zemm.Memory(zemm.MemoryDesc((0, 9), "f32"), engine, np.zeros((0, 9), np.float32))


def test_raw_bytes(engine: zemm.Engine) -> None:
    """Raw bytes are copied into the buffer, whatever its descriptor says."""
    data = VALUES.tobytes()
    for raw in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        for md in (MD, DESCRIPTORS["ba"], zemm.MemoryDesc((6,), "f64"), zemm.MemoryDesc((3, 32), "u4")):
            memory = zemm.Memory(md, engine)
            memory.write(raw)
            assert memory.read().tobytes() == data
    chars = (ctypes.c_char * 48)(*(bytes([b]) for b in data))
    assert np.array_equal(zemm.Memory(MD, engine, chars).as_numpy(), VALUES)
    larger = bytearray(data + b"more")
    assert np.array_equal(zemm.Memory(MD, engine, larger).as_numpy(), VALUES)


NIBBLES = np.random.default_rng(3).integers(0, 16, (6, 4)).astype(np.uint8)
FOUR_BITS = {
    "ab": (zemm.MemoryDesc((6, 4), "u4"), zemm.pack_int4(NIBBLES)),
    "ba": (zemm.MemoryDesc((6, 4), "u4", "ba"), zemm.pack_int4(NIBBLES.T).T),
    "part": (zemm.MemoryDesc((8, 10), "u4").submemory((6, 4), (1, 2)), zemm.pack_int4(NIBBLES)),
}


@pytest.mark.parametrize("name", FOUR_BITS)
def test_4_bits(engine: zemm.Engine, name: str) -> None:
    """They are written packed along the dimension of stride 1."""
    md, packed = FOUR_BITS[name]
    memory = zemm.Memory(md, engine)
    memory.write(np.zeros(md.size, np.uint8))
    memory.write(packed)
    assert np.array_equal(row_major(engine, memory, "u8"), NIBBLES)
    if name != "part":
        assert np.array_equal(row_major(engine, zemm.Memory(md, engine, packed), "u8"), NIBBLES)


def test_rows_that_end_inside_a_byte(engine: zemm.Engine) -> None:
    memory = zemm.Memory(zemm.MemoryDesc((3,), "s4"), engine)
    memory.write(zemm.pack_int4([1, -2, 3]))  # one dimension: raw bytes
    assert zemm.unpack_int4(memory.read(), 3, signed=True).tolist() == [1, -2, 3]


def test_blocked(engine: zemm.Engine) -> None:
    md = zemm.MemoryDesc((64, 64), "s8", "BA16a64b4a")
    memory = zemm.Memory(md, engine)
    memory.write(np.arange(4096).astype(np.uint8))
    again = zemm.Memory(md, engine, memory.read())
    assert np.array_equal(again.read(), memory.read())


def test_sparse(engine: zemm.Engine) -> None:
    memory = zemm.Memory(zemm.MemoryDesc.csr((4, 6), "f16", 7), engine)
    memory.write(np.arange(7, dtype=np.float16))
    memory.write(np.arange(7, dtype=np.int32), index=1)
    assert memory.read().tobytes() == np.arange(7, dtype=np.float16).tobytes()


def test_addresses_of_several_buffers(engine: zemm.Engine) -> None:
    """A memory of a grouped tensor on arrays of the caller."""
    md = zemm.MemoryDesc.grouped((3, 2), "f32", 0, 2)
    values, ends = np.arange(6, dtype=np.float32), np.array([1, 3], np.int32)
    addresses = [values.ctypes.data, ends.ctypes.data]
    memory = zemm.Memory.from_handle(md, engine, addresses, keep=(values, ends))
    assert memory.handle == addresses[0]
    assert memory.read(0).view(np.float32).tolist() == values.tolist()
    memory.write(np.array([2, 3], np.int32).view(np.uint8), 1)
    assert ends.tolist() == [2, 3]
