# SPDX-License-Identifier: Apache-2.0
"""DLPack: memories from tensors and tensors from memories, without copies."""

import gc
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import zemm

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


@pytest.mark.parametrize("value", [np.float32(2.5), np.int8(-3)])
def test_tensors_without_dimensions(engine: zemm.Engine, value: Any) -> None:
    array = np.array(value)
    memory = zemm.from_dlpack(array, engine=engine)
    assert (memory.md.dims, memory.handle) == ((1,), array.ctypes.data)
    assert memory.as_numpy() == [value]
    assert np.from_dlpack(memory) == [value]


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
    ],
)
def test_refusals(engine: zemm.Engine, x: Any, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        zemm.from_dlpack(x(), engine=engine)


@pytest.mark.parametrize(
    "md",
    [
        lambda: zemm.MemoryDesc((4, 4), "u4"),
        lambda: zemm.MemoryDesc((4, 4), "u2"),
        lambda: zemm.MemoryDesc((64, 64), "s8", tag="BA16a64b4a"),
    ],
)
def test_memories_without_a_form(engine: zemm.Engine, md: Any) -> None:
    with pytest.raises(BufferError):
        np.from_dlpack(zemm.Memory(md(), engine))
