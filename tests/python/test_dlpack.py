# SPDX-License-Identifier: Apache-2.0
"""DLPack: memories from tensors and tensors from memories, without copies."""

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm
from zemm._objects import dlpack

A = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint8, np.int32])
@pytest.mark.parametrize("view", [lambda a: a, lambda a: a.T, lambda a: a[:, ::2], lambda a: a[1:]])
def test_from_numpy(engine: zemm.Engine, dtype: Any, view: Any) -> None:
    array = view(A.astype(dtype))
    memory = zemm.from_dlpack(array, engine=engine)
    assert memory.handle == array.ctypes.data
    assert memory.md.dims == array.shape
    assert memory.md.data_type == zemm.dtype_name(dtype)
    back = np.from_dlpack(memory)
    assert np.array_equal(back, array)
    array[0, 0] = 99
    assert back[0, 0] == 99


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0), (2, 0, 4)])
def test_tensors_without_elements(engine: zemm.Engine, shape: tuple[int, ...]) -> None:
    memory = zemm.from_dlpack(np.ones(shape, np.float32), engine=engine)
    assert memory.md == zemm.MemoryDesc(shape, "f32")
    assert np.from_dlpack(memory).shape == shape


def test_memories_that_the_library_allocated(engine: zemm.Engine) -> None:
    memory = zemm.Memory(zemm.MemoryDesc((3, 4), "f32", strides=(1, 5)), engine)
    memory.write(A)
    array = np.from_dlpack(memory)
    assert array.strides == (4, 20)
    del memory
    gc.collect()
    assert np.array_equal(array, A)


def test_the_exporter_stays_alive(engine: zemm.Engine) -> None:
    class Array(np.ndarray):
        pass

    array = A.copy().view(Array)
    alive = weakref.ref(array)
    memory = zemm.from_dlpack(array, engine=engine)
    del array
    gc.collect()
    assert alive() is not None
    back = np.from_dlpack(memory)
    del memory
    gc.collect()
    assert alive() is not None
    assert np.array_equal(back, A)
    del back
    gc.collect()
    assert alive() is None


def test_read_only(engine: zemm.Engine, stream: zemm.Stream) -> None:
    array = A.copy()
    array.flags.writeable = False
    memory = zemm.from_dlpack(array, engine=engine)
    assert memory.readonly
    assert np.array_equal(memory.as_numpy(), A)
    assert not np.from_dlpack(memory).flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        memory.write(A)
    source = zemm.from_dlpack(A.copy(), engine=engine)
    assert not source.readonly
    pd = zemm.ReorderPrimitiveDesc(engine, source.md, memory.md)
    with pytest.raises(ValueError, match="read-only"):
        zemm.Primitive(pd).execute(stream, {zemm.ARG_FROM: source, zemm.ARG_TO: memory})
    copied = zemm.reorder(memory, memory.md)
    assert np.array_equal(copied.as_numpy(), A)


@pytest.mark.parametrize("name", ["float32", "bfloat16", "float16", "int8", "float8_e4m3fn", "float8_e5m2"])
def test_torch(engine: zemm.Engine, name: str) -> None:
    torch = pytest.importorskip("torch", reason="needs the package torch")
    tensor = torch.arange(12).reshape(3, 4).to(getattr(torch, name))
    for view in (tensor, tensor.T, tensor[:, 1:3]):
        memory = zemm.from_dlpack(view, engine=engine)
        assert memory.handle == view.data_ptr()
        back = torch.from_dlpack(memory)
        assert back.dtype == view.dtype
        assert back.data_ptr() == view.data_ptr()
        assert torch.equal(back.float(), view.float())
    own = zemm.Memory(zemm.MemoryDesc((2, 2), memory.md.data_type), engine)
    own.write(np.ones((2, 2), zemm.numpy_dtype(memory.md.data_type)))
    assert torch.equal(torch.from_dlpack(own).float(), torch.ones(2, 2))


F4_VIEWS = {
    "whole": lambda t: t,
    "rows": lambda t: t[1:3],
    "columns": lambda t: t[:, 1:3],
    "transposed": lambda t: t.T,
    "one": lambda t: t[:, :1].clone(),
    "flat": lambda t: t.reshape(-1),
}


@pytest.mark.parametrize("view", F4_VIEWS.values(), ids=F4_VIEWS)
def test_f4_of_torch(engine: zemm.Engine, view: Any) -> None:
    """An element of float4_e2m1fn_x2 is two values, along the dimension of stride 1."""
    torch = pytest.importorskip("torch", reason="needs the package torch")
    stored = view(torch.arange(24, dtype=torch.uint8).reshape(4, 6))
    tensor = stored.view(torch.float4_e2m1fn_x2)
    memory = zemm.from_dlpack(tensor, engine=engine)
    inner = max(d for d, stride in enumerate(tensor.stride()) if stride == 1)
    assert memory.handle == tensor.data_ptr()
    assert memory.md.data_type == "f4_e2m1"
    assert memory.md.dims == tuple(n * (2 if d == inner else 1) for d, n in enumerate(tensor.shape))
    pairs = np.moveaxis(stored.numpy(), inner, -1)
    values = np.stack([pairs & 15, pairs >> 4], -1).reshape(*pairs.shape[:-1], -1)
    reordered = zemm.reorder(memory, zemm.MemoryDesc(memory.md.dims, "f32")).as_numpy()
    table = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6] * 2, np.float32) * np.repeat([1, -1], 8)
    assert np.array_equal(reordered, np.moveaxis(table[values], -1, inner))
    back = torch.from_dlpack(memory)
    assert (back.dtype, back.data_ptr(), back.shape) == (tensor.dtype, tensor.data_ptr(), tensor.shape)
    assert torch.equal(back.view(torch.uint8), stored)


class Given:
    """A tensor of numpy whose type is written over."""

    def __init__(
        self, array: np.ndarray, code: int, lanes: int = 1, flags: int = 0, shape: Any = None
    ) -> None:
        self.array, self.code, self.lanes, self.flags, self.shape = array, code, lanes, flags, shape

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self.array.__dlpack__(**options)
        tensor, _ = dlpack.contents(capsule)
        tensor.code, tensor.bits, tensor.lanes = self.code, 4, self.lanes
        for d, size in enumerate(self.shape or ()):
            tensor.shape[d] = size
            if tensor.strides:
                tensor.strides[d] = int(np.prod(self.shape[d + 1 :]))
        pointer = dlpack._pointer(capsule, b"dltensor_versioned")
        dlpack._Versioned.from_address(pointer).flags |= self.flags
        return capsule


@pytest.mark.parametrize(("code", "name"), [(0, "s4"), (1, "u4"), (17, "f4_e2m1")])
def test_elements_of_4_bits(engine: zemm.Engine, code: int, name: str) -> None:
    """Packed elements of one lane, and bytes of two lanes."""
    stored = np.arange(12, dtype=np.uint8).reshape(3, 4)
    for x in (Given(stored, code, shape=(3, 8)), Given(stored, code, lanes=2)):
        memory = zemm.from_dlpack(x, engine=engine)
        assert memory.md == zemm.MemoryDesc((3, 8), name)  # type: ignore[arg-type]
        assert np.array_equal(memory.read(), stored.reshape(-1))
    memory = zemm.from_dlpack(Given(stored[:0], code, lanes=2), engine=engine)
    assert memory.md.dims == (0, 8)


@pytest.mark.parametrize("name", ["s4", "u4", "u2"])
@pytest.mark.parametrize("strides", [(8, 1), (12, 1), (1, 4)])
def test_integers_in_parts_of_bytes_are_given_packed(
    engine: zemm.Engine, name: Any, strides: tuple[int, int]
) -> None:
    memory = zemm.Memory(zemm.MemoryDesc((4, 8), name, strides=strides), engine)
    capsule = memory.__dlpack__(max_version=(1, 3))
    tensor, flags = dlpack.contents(capsule)
    assert (tensor.code, tensor.bits, tensor.lanes) == (0 if name == "s4" else 1, int(name[1]), 1)
    assert not flags & dlpack.PADDED
    assert tuple(tensor.shape[:2]) == (4, 8)
    assert not tensor.strides or tuple(tensor.strides[:2]) == strides
    again = zemm.from_dlpack(memory, engine=engine)
    assert (again.md, again.handle) == (memory.md, memory.handle)


class Elsewhere:
    """A tensor that says that it is on a device."""

    def __init__(self, device: int) -> None:
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device, 0

    def __dlpack__(self, **_: Any) -> Any:
        return object()


class Backwards(Elsewhere):
    def __dlpack__(self, **options: Any) -> Any:
        return A[::-1].__dlpack__(**options)


class Damaged(Elsewhere):
    """A capsule of a 3x4 f32 with strides, of which some fields are written over. old: one of DLPack before
    1.0."""

    def __init__(self, old: bool = False, version: int = 1, device: Any = (1, 0), **fields: Any) -> None:
        self.old, self.version, self.device, self.fields = old, version, device, fields

    def __dlpack_device__(self) -> Any:
        return self.device

    def __dlpack__(self, **options: Any) -> Any:
        if self.old and options:
            raise TypeError
        self.array = np.ones((4, 4), np.float32)[:3]
        capsule = self.array[:, ::2].__dlpack__(**options)
        tensor, _ = dlpack.contents(capsule)
        for name, value in self.fields.items():
            for d, part in enumerate(value if isinstance(value, tuple) else ()):
                getattr(tensor, name)[d] = part
            if not isinstance(value, tuple):
                setattr(tensor, name, value)
        if not self.old:
            versioned = dlpack._Versioned.from_address(dlpack._pointer(capsule, b"dltensor_versioned"))
            versioned.major = self.version
        return capsule


DAMAGES: list[tuple[dict[str, Any], str]] = [
    ({"device_type": 2}, r"on the device \(1, 0\), its capsule that it is on \(2, 0\)"),
    ({"device_type": 14}, "its capsule that it is on"),
    ({"device": (1,)}, "not two integers"),
    ({"device": ("cpu", 0)}, "not two integers"),
    ({"ndim": -1}, "-1 dimensions in its capsule, not 0 to 12"),
    ({"ndim": 13}, "13 dimensions in its capsule"),
    ({"shape": None}, "2 dimensions in its capsule, but no shape"),
    ({"shape": (-1, 4)}, "negative sizes"),
    ({"shape": (2**62, 2**62)}, "more elements than 64 bits count"),
    ({"strides": (-4, 1)}, "negative strides"),
    ({"strides": (2**62, 1)}, "more elements than 64 bits count"),
    ({"strides": (1, 1)}, "strides"),
    ({"data": None}, "but no address"),
    ({"byte_offset": 2**64 - 4}, "beyond all memory"),
    ({"byte_offset": 2}, "unaligned"),
    ({"shape": (1, 2**60), "strides": None}, "beyond all memory"),
    ({"lanes": 0}, "0 lanes"),
    ({"bits": 0}, "0 bits"),
    ({"code": 255}, "type code 255"),
    (
        {"code": 17, "bits": 4, "lanes": 2, "strides": None, "shape": (1, 2**62)},
        "outside 64 bits",
    ),
]


@pytest.mark.parametrize(("fields", "sentence"), DAMAGES)
@pytest.mark.parametrize("old", [False, True])
def test_damaged_capsules(engine: zemm.Engine, old: bool, fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        zemm.from_dlpack(Damaged(old, **fields), engine=engine)


@pytest.mark.parametrize("version", [0, 2, 2**32 - 1])
def test_other_versions(engine: zemm.Engine, version: int) -> None:
    with pytest.raises(ValueError, match=f"x speaks DLPack {version}"):
        zemm.from_dlpack(Damaged(version=version), engine=engine)


@pytest.mark.parametrize(
    ("x", "sentence"),
    [
        (lambda: 3, "x is a int"),
        (lambda: Elsewhere(2), "device of type 2"),
        (lambda: Elsewhere(14), "needs a gpu engine"),
        (lambda: Elsewhere(1), "no capsule"),
        (lambda: Backwards(1), "negative strides"),
        (lambda: A.astype(np.complex64), "type code 5"),
        (lambda: np.zeros(3, bool), "type code 6"),
        (lambda: A.astype(ml_dtypes.bfloat16), "x cannot be exported"),
        (lambda: Given(A.astype(np.uint8), 1, flags=dlpack.PADDED), "a byte for each u4"),
        (lambda: Given(A.astype(np.uint8), 17, lanes=4), "code 17 of 4 bits and 4 lanes"),
        (lambda: Given(A.astype(np.uint8), 16), "type code 16 of 4 bits"),
        (lambda: Given(A.astype(np.uint8)[:, ::2], 17, lanes=2), r"strides \(4, 2\): along none"),
    ],
)
def test_refusals(engine: zemm.Engine, x: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        zemm.from_dlpack(x(), engine=engine)


@pytest.mark.parametrize(
    "md",
    [
        lambda: zemm.MemoryDesc((4, 3), "u4", strides=(4, 1)),
        lambda: zemm.MemoryDesc((64, 64), "s8", tag="BA16a64b4a"),
    ],
)
def test_memories_without_a_form(engine: zemm.Engine, md: Any) -> None:
    with pytest.raises(BufferError):
        np.from_dlpack(zemm.Memory(md(), engine))
