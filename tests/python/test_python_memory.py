# SPDX-License-Identifier: Apache-2.0
"""Arrays in memories: data written has the type, shape and order of the descriptor, or is
refused.
"""

import array
import ctypes
from collections.abc import Callable
from typing import Any

import ml_dtypes
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


def test_three_dimensions(engine: zemm.Engine) -> None:
    values = np.arange(24, dtype=np.int8).reshape(2, 3, 4)
    for tag in ("abc", "acb", "bca", "cab"):
        memory = zemm.Memory(zemm.MemoryDesc((2, 3, 4), "s8", tag), engine)
        memory.write(values)
        assert np.array_equal(row_major(engine, memory, "s8"), values)
        in_place = values.transpose([ord(letter) - 97 for letter in tag]).copy()
        back = in_place.transpose(np.argsort([ord(letter) - 97 for letter in tag]))
        assert np.array_equal(back, values)
        memory = zemm.Memory(zemm.MemoryDesc((2, 3, 4), "s8", tag), engine, back)
        assert memory.handle == back.ctypes.data
        assert np.array_equal(row_major(engine, memory, "s8"), values)


@pytest.mark.parametrize(
    "name", ["f32", "f16", "bf16", "s8", "u8", "s32", "f64", "s64", "f8_e5m2", "f8_e4m3", "e8m0"]
)
def test_types(engine: zemm.Engine, name: str) -> None:
    """An array of a type can be written only to a memory of the same type."""
    values = np.exp2(VALUES % 4).astype(zemm.numpy_dtype(name))
    for other in ("f32", "f16", "bf16", "s8", "u8", "s32", "f64", "s64", "f8_e4m3", "f8_e5m2", "e8m0"):
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


BAD: dict[str, tuple[Any, list[str]]] = {
    "float64": (VALUES.astype(np.float64), ["float64", "float32", "astype"]),
    "as many bytes": (np.zeros((3, 2)), ["float64", "float32"]),
    "integers": (np.arange(12).reshape(3, 4), ["int64", "float32"]),
    "bits of another type": (VALUES.view(np.uint32), ["uint32", "view()"]),
    "byte order": (VALUES.astype(">f4"), [">f4", "float32"]),
    "transposed": (VALUES.T, ["(4, 3)", "(3, 4)"]),
    "flat": (VALUES.reshape(-1), ["(12,)", "(3, 4)"]),
    "too small": (VALUES[:2].copy(), ["(2, 4)", "(3, 4)"]),
    "too large": (np.zeros((4, 4), np.float32), ["(4, 4)", "(3, 4)"]),
    "one more dimension": (VALUES[None], ["(1, 3, 4)"]),
    "a number": (np.float32(1), ["()", "(3, 4)"]),
    "typed buffer": (array.array("d", range(6)), ["float64", "float32"]),
    "ctypes": ((ctypes.c_float * 12)(), ["(12,)", "(3, 4)"]),
    "2-D bytes": (np.zeros((12, 4), np.uint8), ["uint8", "1-D"]),
    "signed bytes": (np.zeros(48, np.int8), ["int8"]),
}


@pytest.mark.parametrize("case", BAD)
def test_misfits(engine: zemm.Engine, case: str) -> None:
    buffer, words = BAD[case]
    memory = zemm.Memory(MD, engine)
    memory.write(VALUES)
    if isinstance(buffer, np.ndarray):
        buffer = buffer.copy() if buffer.flags.c_contiguous else buffer
    calls = [lambda: memory.write(buffer)]
    if not isinstance(buffer, np.generic):  # scalars of numpy are read-only
        calls.append(lambda: zemm.Memory(MD, engine, buffer))
    for call in calls:
        with pytest.raises(zemm.InvalidArgumentsError) as caught:
            call()
        for word in words:
            assert word in str(caught.value)
    assert np.array_equal(memory.as_numpy(), VALUES)


def test_lists(engine: zemm.Engine) -> None:
    memory = zemm.Memory(MD, engine)
    for values in (VALUES.tolist(), [1, 2, 3], "text"):
        with pytest.raises(ValueError, match="float32"):
            memory.write(values)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="array is None"):
        memory.write(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("md", "values", "words"),
    [
        (MD, np.asfortranarray(VALUES), ["(1, 3)", "(4, 1)", "write()"]),
        (MD, np.zeros((3, 8), np.float32)[:, ::2], ["(8, 2)", "(4, 1)"]),
        (MD, np.zeros((3, 4), np.float32)[::-1], ["(-4, 1)", "(4, 1)"]),
        (DESCRIPTORS["ba"], VALUES.copy(), ["(4, 1)", "(1, 3)"]),
        (DESCRIPTORS["gaps"], VALUES.copy(), ["(4, 1)", "(7, 1)"]),
        (DESCRIPTORS["gaps"], np.zeros((3, 7), np.float32)[:, :4], ["48", "84", "gaps"]),
        (DESCRIPTORS["part"], np.zeros((5, 6), np.float32)[1:4, 2:6], ["8 elements"]),
        (zemm.MemoryDesc((3, 4), "f32", strides=(0, 1)), VALUES.copy(), ["(0, 1)"]),
    ],
)
def test_other_orders_in_place(
    engine: zemm.Engine, md: zemm.MemoryDesc, values: np.ndarray, words: list[str]
) -> None:
    with pytest.raises(zemm.InvalidArgumentsError) as caught:
        zemm.Memory(md, engine, values)
    for word in words:
        assert word in str(caught.value)


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
    with pytest.raises(ValueError, match="read-only"):
        zemm.Memory(MD, engine, data)
    for raw in (data, bytearray(data), memoryview(data), np.frombuffer(data, np.uint8)):
        for md in (MD, DESCRIPTORS["ba"], zemm.MemoryDesc((6,), "f64"), zemm.MemoryDesc((3, 32), "u4")):
            memory = zemm.Memory(md, engine)
            memory.write(raw)
            assert memory.read().tobytes() == data
        for wrong in (raw[:-1], bytes(raw) + b"x"):
            with pytest.raises(ValueError, match=r"4[79].*48"):
                zemm.Memory(MD, engine).write(wrong)
    chars = (ctypes.c_char * 48)(*(bytes([b]) for b in data))
    assert np.array_equal(zemm.Memory(MD, engine, chars).as_numpy(), VALUES)
    larger = bytearray(data + b"more")
    assert np.array_equal(zemm.Memory(MD, engine, larger).as_numpy(), VALUES)


class TestFourBits:
    VALUES = np.random.default_rng(3).integers(0, 16, (6, 4)).astype(np.uint8)

    def test_packed(self, engine: zemm.Engine) -> None:
        memory = zemm.Memory(zemm.MemoryDesc((6, 4), "u4"), engine)
        memory.write(zemm.pack_int4(self.VALUES))
        assert np.array_equal(row_major(engine, memory, "u8"), self.VALUES)
        memory = zemm.Memory(memory.md, engine, zemm.pack_int4(self.VALUES))
        assert np.array_equal(row_major(engine, memory, "u8"), self.VALUES)

    def test_packed_along_the_first_dimension(self, engine: zemm.Engine) -> None:
        packed = zemm.pack_int4(self.VALUES.T).T
        memory = zemm.Memory(zemm.MemoryDesc((6, 4), "u4", "ba"), engine)
        memory.write(packed)
        assert np.array_equal(row_major(engine, memory, "u8"), self.VALUES)
        memory = zemm.Memory(memory.md, engine, packed)
        assert np.array_equal(row_major(engine, memory, "u8"), self.VALUES)

    def test_part(self, engine: zemm.Engine) -> None:
        whole = zemm.MemoryDesc((8, 10), "u4")
        memory = zemm.Memory(whole.submemory((6, 4), (1, 2)), engine)
        memory.write(np.zeros(memory.md.size, np.uint8))
        memory.write(zemm.pack_int4(self.VALUES))
        assert np.array_equal(row_major(engine, memory, "u8"), self.VALUES)

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (VALUES, ["(6, 4)", "(6, 2)"]),
            (VALUES.astype(ml_dtypes.uint4), ["uint4", "pack_int4()"]),
            (VALUES.astype(np.int8), ["int8", "pack_int4()"]),
            (zemm.pack_int4(VALUES.T), ["(4, 3)", "(6, 2)"]),
        ],
    )
    def test_misfits(self, engine: zemm.Engine, values: np.ndarray, words: list[str]) -> None:
        with pytest.raises(ValueError, match=r"\w") as caught:
            zemm.Memory(zemm.MemoryDesc((6, 4), "u4"), engine).write(values)
        for word in words:
            assert word in str(caught.value)

    def test_rows_that_end_inside_a_byte(self, engine: zemm.Engine) -> None:
        memory = zemm.Memory(zemm.MemoryDesc((3,), "s4"), engine)
        memory.write(zemm.pack_int4([1, -2, 3]))  # one dimension: raw bytes
        assert zemm.unpack_int4(memory.read(), 3, signed=True).tolist() == [1, -2, 3]
        with pytest.raises(ValueError, match="inside"):
            zemm.Memory(zemm.MemoryDesc((3, 3), "s4", strides=(4, 1)), engine).write(
                np.zeros((3, 2), np.uint8)
            )


def test_blocked(engine: zemm.Engine) -> None:
    md = zemm.MemoryDesc((64, 64), "s8", "BA16a64b4a")
    for values in (np.zeros((64, 64), np.int8), np.zeros((1, 16, 64, 4), np.int8)):
        with pytest.raises(ValueError, match="reorder"):
            zemm.Memory(md, engine).write(values)
        with pytest.raises(ValueError, match="reorder"):
            zemm.Memory(md, engine, values)
    memory = zemm.Memory(md, engine)
    memory.write(np.arange(4096).astype(np.uint8))
    again = zemm.Memory(md, engine, memory.read())
    assert np.array_equal(again.read(), memory.read())


def test_sparse(engine: zemm.Engine) -> None:
    memory = zemm.Memory(zemm.MemoryDesc.csr((4, 6), "f16", 7), engine)
    memory.write(np.arange(7, dtype=np.float16))
    memory.write(np.arange(7, dtype=np.int32), index=1)
    assert memory.read().tobytes() == np.arange(7, dtype=np.float16).tobytes()
    for values, index in (
        (np.arange(7, dtype=np.float32), 0),
        (np.arange(8, dtype=np.float16), 0),
        (np.arange(7), 1),
        (np.arange(7, dtype=np.int32), 2),
    ):
        with pytest.raises(ValueError, match="wants"):
            memory.write(values, index=index)


def test_host_scalars_are_not_written(engine: zemm.Engine) -> None:
    scalar = zemm.Memory.host_scalar(zemm.MemoryDesc.host_scalar("f32"), 1.5)
    for value in (np.float32(2), bytes(4)):
        with pytest.raises(ValueError, match="host scalar"):
            scalar.write(value)


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
    for wrong in (addresses[:1], [*addresses, 0], addresses[0]):
        with pytest.raises(ValueError, match="handles"):
            zemm.Memory.from_handle(md, engine, wrong)
    with pytest.raises(ValueError, match="address is '0x10'"):
        zemm.Memory.from_handle(md, engine, [addresses[0], "0x10"])  # type: ignore[list-item]
