# SPDX-License-Identifier: Apache-2.0
"""A binding of the part of oneDNN's C API that a matmul needs: zemm's own classes, which call oneDNN's
functions. Enums have the same numbers in both libraries.

zemm.benchdnn.data.build can use a Binding in place of the module `zemm`. Its objects are made and passed on:
their other methods would ask zemm's library.
"""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

import zemm
from zemm._library import library
from zemm._library.library import ARG, value_of
from zemm._library.lists import ATTRIBUTES
from zemm.benchdnn.data.layout import Bytes
from zemm.benchdnn.peers import PeerError

_CPU = 1
_IN_ORDER = 1
_TAG_ANY = 1


class Binding:
    """oneDNN with one CPU engine and one stream. create() and call() stand for those of zemm's library, with
    the prefix dnnl_ of functions."""

    RUNTIME_DIM = library.RUNTIME_DIM

    def __init__(self, ffi: Any, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
        self.engine = self.create("engine", "engine_create", _CPU, 0)
        self.stream = self.create("stream", "stream_create", self.engine, _IN_ORDER)
        own = {"_library": self}
        self.MemoryDesc: type[zemm.MemoryDesc] = type("MemoryDesc", (_MemoryDesc,), own)
        self.PostOps: type[zemm.PostOps] = type("PostOps", (_PostOps,), own)
        self.Attr: type[zemm.Attr] = type("Attr", (_Attr,), own)

    @property
    def version(self) -> str:
        v = self.lib.dnnl_version()
        return f"{v.major}.{v.minor}.{v.patch}"

    def call(self, function: str, *args: Any) -> None:
        """PeerError, with the status: the function has failed."""
        status = getattr(self.lib, f"dnnl_{function}")(*args)
        if status:
            raise PeerError(f"dnnl_{function} returned {library.name_of('status', status)}")

    def create(self, kind: str, function: str, *args: Any) -> Any:
        """A handle, which is destroyed when nothing refers to it."""
        out = self.ffi.new("void **")
        self.call(function, out, *args)
        return self.ffi.gc(out[0], getattr(self.lib, f"dnnl_{kind}_destroy"))

    def MatmulPrimitiveDesc(  # noqa: N802 (the name in zemm)
        self,
        engine: Any,
        src: zemm.MemoryDesc,
        weights: zemm.MemoryDesc,
        dst: zemm.MemoryDesc,
        bias: zemm.MemoryDesc | None,
        attr: zemm.Attr,
    ) -> Any:
        """The handle of a primitive descriptor."""
        mds = [self.ffi.NULL if md is None else md._handle for md in (src, weights, bias, dst)]
        return self.create("primitive_desc", "matmul_primitive_desc_create", engine, *mds, attr._handle)

    def impl_info(self, pd: Any) -> str:
        out = self.ffi.new("const char **")
        self.call("primitive_desc_query", pd, value_of("query", "impl_info_str"), 0, out)
        return str(self.ffi.string(out[0]).decode())

    def exec_arg_md(self, pd: Any, arg: int) -> zemm.MemoryDesc:
        """A copy of the descriptor of an execution argument."""
        return self.MemoryDesc._copy_of(
            self.lib.dnnl_primitive_desc_query_md(pd, value_of("query", "exec_arg_md"), arg)
        )


class _MemoryDesc(zemm.MemoryDesc):
    """The descriptor of a plain layout, or of one that the library chooses (tag any)."""

    def __init__(
        self,
        dims: Sequence[int],
        data_type: Any,
        tag: str | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        if tag == "any":
            number = value_of("data_type", zemm.dtype_name(data_type))
            self._make("memory_desc_create_with_tag", *library.dims(dims), number, _TAG_ANY)
            return
        # zemm's own descriptor turns the tag into strides.
        plain = zemm.MemoryDesc(dims, data_type, tag, strides)
        if plain.inner_nblks:
            raise PeerError(f"tag {tag} is blocked: peers get plain layouts, or choose their own by tag any")
        super().__init__(dims, data_type, strides=plain.strides)


class _PostOps(zemm.PostOps):
    def append_dw(self, *_: Any, **__: Any) -> None:
        raise PeerError("a depthwise convolution is no post-op of a matmul")


class _Attr(zemm.Attr):
    def set_reduced_range(self, *_: Any) -> None:
        """oneDNN has no such attribute: it computes the same without."""

    def set_dropout(self, *_: Any) -> None:
        raise PeerError("peers are given no --attr-dropout")


def _refusing(row: Any) -> Callable[..., NoReturn]:
    """The setter of an attribute that oneDNN lacks."""

    def refuse(*_: Any) -> NoReturn:
        drops = f" (--peer-{row.option}=none drops it)" if row.for_peers else ""
        raise PeerError(f"it has no --{row.option}{drops}")

    return refuse


for _row in ATTRIBUTES.values():
    if _row.is_extension and f"set_{_row.name}" not in vars(_Attr):
        setattr(_Attr, f"set_{_row.name}", _refusing(_row))


def new_memory(binding: Binding, md: zemm.MemoryDesc) -> Any:
    """A memory whose buffer the library allocates."""
    allocate = binding.ffi.cast("void *", 2**64 - 1)
    return binding.create("memory", "memory_create", md._handle, binding.engine, allocate)


def new_scalar(binding: Binding, md: zemm.MemoryDesc, value: Bytes) -> Any:
    """A host scalar memory with the bytes of `value`."""
    data = binding.ffi.new("char[8]", value.tobytes())
    return binding.create("memory", "memory_create_host_scalar", md._handle, data)


def with_bytes(binding: Binding, memory: Any, size: int, use: Callable[[Bytes], Any]) -> Any:
    """Map a memory of `size` bytes, return use(its bytes) and unmap it. None if it has no bytes."""
    if not size:
        return None
    out = binding.ffi.new("void **")
    binding.call("memory_map_data", memory, out)
    try:
        return use(np.frombuffer(binding.ffi.buffer(out[0], size), np.uint8))
    finally:
        binding.call("memory_unmap_data", memory, out[0])


def reordered(binding: Binding, memory: Any, md: zemm.MemoryDesc, wanted: zemm.MemoryDesc) -> Any:
    """The tensor in the layout of the descriptor `wanted`. It is `memory` itself if md, its own, is
    equal."""
    is_equal = binding.lib.dnnl_memory_desc_equal(md._handle, wanted._handle)
    return memory if is_equal else copied(binding, memory, md, wanted)


def copied(binding: Binding, memory: Any, md: zemm.MemoryDesc, wanted: zemm.MemoryDesc) -> Any:
    """A copy of the tensor, whose descriptor is md, in the layout of the descriptor `wanted`."""
    args = (md._handle, binding.engine, wanted._handle, binding.engine, binding.ffi.NULL)
    pd = binding.create("primitive_desc", "reorder_primitive_desc_create", *args)
    result = new_memory(binding, wanted)
    execution(binding, pd, {ARG["FROM"]: memory, ARG["TO"]: result})()
    return result


def execution(binding: Binding, pd: Any, memories: dict[int, Any]) -> Callable[[], None]:
    """A function that runs the primitive of `pd` and returns when it has finished."""
    primitive = binding.create("primitive", "primitive_create", pd)
    args = binding.ffi.new("dnnl_exec_arg_t[]", list(memories.items()))
    execute, wait, stream = binding.lib.dnnl_primitive_execute, binding.lib.dnnl_stream_wait, binding.stream
    count = len(memories)

    def run() -> None:
        status = execute(primitive, stream, count, args) or wait(stream)
        if status:
            raise PeerError(f"dnnl_primitive_execute returned {library.name_of('status', status)}")

    return run
