# SPDX-License-Identifier: Apache-2.0
"""Memory objects: the bytes of tensors on an engine, or one value on the host."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zemm._library import check, library
from zemm._objects import dlpack
from zemm._objects.array_memory import array_of, is_raw, layout_of
from zemm._objects.process_bound import ProcessBound
from zemm.dtypes import SUB_BYTE, numpy_dtype, scalar_of
from zemm.engine import Engine
from zemm.errors import InvalidArgumentsError
from zemm.memory_desc import MemoryDesc


class Memory(ProcessBound):
    """The bytes of a tensor on an engine, in the layout of md.

    buffer: None lets the library allocate. On a CPU engine a writable array is used without a copy
    and kept alive; it must have md's type, shape and strides (for 4-bit types: be the bytes that
    pack_int4() makes). Raw bytes (a bytearray, another writable buffer of bytes, or a 1-D array of
    uint8) are used for any md that needs no more of them.

    ValueError: the array does not fit, is too small or read-only; the engine is a GPU (use
    write()); md has the tag any or runtime dims.
    """

    readonly = False  # True: of a tensor that from_dlpack() may only read

    def __init__(self, md: MemoryDesc, engine: Engine, buffer: Any = None) -> None:
        check.instance(md, MemoryDesc, "md")
        check.instance(engine, Engine, "engine")
        if buffer is None:
            self._make(md, engine, [library.ALLOCATE] * md.num_handles)
            return
        if engine.kind != "cpu":
            raise InvalidArgumentsError(
                f"buffer is host memory, which engine {engine!r} does not use: write() copies"
            )
        data = array_of(buffer)
        if data is None:
            raise InvalidArgumentsError(f"buffer is {check.shown(buffer)}, not an array nor bytes")
        if not data.flags.writeable:
            raise InvalidArgumentsError("buffer is read-only")
        if not is_raw(data):
            layout_of(md).check_in_place(data, "buffer", md.size)
        elif data.nbytes < md.size:
            raise InvalidArgumentsError(f"buffer has {data.nbytes} bytes, {md!r} needs {md.size}")
        self._make(md, engine, [library.pointer(data.ctypes.data)], keep=data)

    def _make(self, md: MemoryDesc, engine: Engine, handles: list[Any], keep: Any = None) -> None:
        c_md, c_engine = check.handle(md, MemoryDesc, "md"), check.handle(engine, Engine, "engine")
        self.md = md
        self.engine: Engine | None = engine
        args = (c_md, c_engine, len(handles), library.pointers(handles))
        try:
            self._handle: Any = library.create("memory", "memory_create_v2", *args, keep=(c_engine, keep))
        except InvalidArgumentsError:
            if md.format_kind != "host_scalar":
                raise
            raise InvalidArgumentsError(
                "md is a host scalar: zemm.Memory.host_scalar(md, value) makes its memory"
            ) from None

    @classmethod
    def from_handle(
        cls, md: MemoryDesc, engine: Engine, address: int | Sequence[int], keep: Any = None
    ) -> "Memory":
        """A memory at an address that the device can use (0: without a buffer); with several
        buffers a sequence of addresses. keep: an object to keep alive as long as the memory."""
        check.instance(md, MemoryDesc, "md")
        memory = cls.__new__(cls)
        addresses = address if isinstance(address, (list, tuple)) else [address]
        pointers = [library.pointer(check.integer(a, "address", 0, 2**64 - 1)) for a in addresses]
        memory._make(md, engine, pointers, keep)
        return memory

    @classmethod
    def host_scalar(cls, md: MemoryDesc, value: Any) -> "Memory":
        """A memory of one number on the host, in md's data type. ValueError: the type cannot hold
        the number (a fraction or a large number in an integer, or one that a float could hold only
        as infinity, NaN or 0)."""
        if check.instance(md, MemoryDesc, "md").format_kind != "host_scalar":
            raise InvalidArgumentsError(
                f"md is {md!r}: zemm.MemoryDesc.host_scalar(data_type) makes one for a number"
            )
        memory = cls.__new__(cls)
        scalar = library.scalar(scalar_of(value, md.data_type).tobytes())
        memory.md = md
        memory.engine = None
        memory._handle = library.create("memory", "memory_create_host_scalar", md._handle, scalar)
        return memory

    @property
    def handle(self) -> int:
        """The address of the buffer; of the first one if there are several."""
        return library.address(library.output("void *", "memory_get_data_handle", self._handle))

    def read(self, index: int = 0) -> NDArray[np.uint8]:
        """A copy of the bytes of a buffer. Does not wait: call Stream.wait() first."""
        if self.md.format_kind == "host_scalar":
            return library.scalar_bytes(self._handle, numpy_dtype(self.md.data_type).itemsize)
        size = self.md.part_size(index)
        data: NDArray[np.uint8] = library.with_mapped(self._handle, index, size, np.copy)
        return data

    def write(self, array: ArrayLike | bytes, index: int = 0) -> None:
        """Copy an array into a buffer, in the buffer's layout.

        array: of md's type and shape, with any strides. For 4-bit types it is the bytes that
        pack_int4() makes, for sparse encodings the buffer's elements in one dimension. Raw bytes
        (bytes, another buffer of bytes, or a 1-D array of uint8), exactly as many as the buffer
        has, are copied unchanged. ValueError: anything else.
        """
        data = array_of(array)
        if data is None:
            data = check.array(array, "array")
        if self.readonly:
            raise InvalidArgumentsError("the memory is read-only, as the tensor is that it was made from")
        if self.md.format_kind == "host_scalar":
            raise InvalidArgumentsError("a host scalar is made with its value, which stays")
        size = self.md.part_size(index)
        if is_raw(data):
            if data.size != size:
                raise InvalidArgumentsError(f"array has {data.size} bytes, {self.md!r} {size}")
            library.with_mapped(self._handle, index, size, lambda bytes_: np.copyto(bytes_, data))
            return
        layout = layout_of(self.md, index)
        layout.check(data, "array")
        library.with_mapped(self._handle, index, size, lambda bytes_: np.copyto(layout.view(bytes_), data))

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The tensor for from_dlpack() of numpy, torch and others, without a copy, on a CPU engine.
        It keeps the bytes alive. Does not wait: call Stream.wait() first. An f4_e2m1 is given as torch's
        float4_e2m1fn_x2, integers of fewer than 8 bits as packed elements. BufferError: the engine is a GPU,
        or the layout or type has no DLPack form."""
        array, md = self._without_copy(), self.md
        return dlpack.capsule_of(array, md.data_type, md.dims, max_version, dl_device, copy)

    def _without_copy(self) -> NDArray[Any]:
        """The elements as an array. Types of ml_dtypes are integers of their size, those of fewer bits
        bytes of several."""
        md = self.md
        if self.engine is None or self.engine.kind != "cpu":
            raise BufferError("only memory of a CPU engine has a DLPack form: read() copies from a GPU")
        try:
            layout = layout_of(md)
        except InvalidArgumentsError as error:
            raise BufferError(str(error)) from None
        array = layout.view(np.asarray(_Bytes(self)) if md.size else np.empty(0, np.uint8))
        return array if array.dtype.isbuiltin == 1 else array.view(f"i{array.itemsize}")

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.engine is None:
            raise BufferError("a host scalar has no DLPack form")
        return (dlpack.CPU, 0) if self.engine.kind == "cpu" else (dlpack.ONE_API, self.engine.index)

    def as_numpy(self) -> NDArray[Any]:
        """A copy as an array with md's dims and type. ValueError: md is not row-major or has a
        4-bit type."""
        name = self.md.data_type
        if self.md.ndims == 0 or self.md.format_kind == "host_scalar":
            raise InvalidArgumentsError(f"{self.md!r} has no array: read() returns bytes")
        if name in SUB_BYTE:
            raise InvalidArgumentsError(f"data type {name} has several elements to a byte: see unpack_int4()")
        if self.md != MemoryDesc(self.md.dims, name):
            raise InvalidArgumentsError(f"{self.md!r} is not row-major")
        return self.read().view(numpy_dtype(name)).reshape(self.md.dims)

    def __repr__(self) -> str:
        place = "the host" if self.engine is None else repr(self.engine)
        return f"<Memory of {self.md!r} on {place}>"


class _Bytes:
    """Bytes of a memory for numpy, which keeps this object, and with it the memory's handle."""

    def __init__(self, memory: Memory) -> None:
        self.handle = memory._handle
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (memory.md.size,),
            "data": (memory.handle, memory.readonly),
        }
