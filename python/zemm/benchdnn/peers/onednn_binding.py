# SPDX-License-Identifier: Apache-2.0
"""A binding of the part of oneDNN's C API that a matmul needs, with the names of zemm's Python
classes.

zemm.benchdnn.data.build can use a Binding in place of the module `zemm`, because enums have the same
numbers in both libraries.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from zemm._library import library
from zemm._library.library import ARG, value_of
from zemm._library.lists import ATTRIBUTES
from zemm.benchdnn.data.layout import Bytes
from zemm.benchdnn.peers import PeerError
from zemm.dtypes import dtype_name
from zemm.memory_desc import MemoryDesc as ZemmMemoryDesc

RUNTIME_DIM = library.RUNTIME_DIM
_CPU = 1
_IN_ORDER = 1
_TAG_ANY = 1


class Binding:
    """oneDNN with one CPU engine and one stream. Its attributes MemoryDesc, Attr, ... make objects
    of the library."""

    def __init__(self, ffi: Any, lib: Any) -> None:
        self.ffi, self.lib = ffi, lib
        self.RUNTIME_DIM = RUNTIME_DIM
        self.engine = self.create("engine", "engine_create", _CPU, 0)
        self.stream = self.create("stream", "stream_create", self.engine, _IN_ORDER)
        self.MemoryDesc = _bound(MemoryDesc, self)
        self.MemoryDesc.host_scalar = lambda data_type: MemoryDesc.of_scalar(self, data_type)
        self.Attr = _bound(Attr, self)
        self.PostOps = _bound(PostOps, self)
        self.MatmulPrimitiveDesc = _bound(MatmulPrimitiveDesc, self)

    @property
    def version(self) -> str:
        v = self.lib.dnnl_version()
        return f"{v.major}.{v.minor}.{v.patch}"

    def call(self, function: str, *args: Any) -> None:
        """Call dnnl_<function>. PeerError, with the status, if it fails."""
        status = getattr(self.lib, f"dnnl_{function}")(*args)
        if status:
            raise PeerError(f"dnnl_{function} returned {library.name_of('status', status)}")

    def create(self, kind: str, function: str, *args: Any) -> Any:
        """A handle made by dnnl_<function>(&handle, args...). It is destroyed when nothing refers
        to it."""
        out = self.ffi.new("void **")
        self.call(function, out, *args)
        return self.ffi.gc(out[0], getattr(self.lib, f"dnnl_{kind}_destroy"))

    def dims(self, values: Sequence[int]) -> Any:
        return self.ffi.new("int64_t[]", list(values)) if values else self.ffi.NULL


def _bound(kind: Any, binding: Binding) -> Any:
    def make(*args: Any, **more: Any) -> Any:
        return kind(binding, *args, **more)

    return make


class MemoryDesc:
    """The descriptor of a plain layout, or of one that the library chooses (tag any)."""

    def __init__(
        self,
        binding: Binding,
        dims: Sequence[int],
        data_type: str,
        tag: str | None = None,
        strides: Sequence[int] | None = None,
    ) -> None:
        args = (len(dims), binding.dims(dims), value_of("data_type", data_type))
        if tag == "any":
            self.handle = binding.create("memory_desc", "memory_desc_create_with_tag", *args, _TAG_ANY)
            return
        # Let zemm's own descriptor turn the tag into strides.
        plain = ZemmMemoryDesc(dims, dtype_name(data_type), tag=tag, strides=strides)
        if plain.inner_nblks:
            raise PeerError(f"tag {tag} is blocked: peers get plain layouts, or choose their own by tag any")
        self.handle = binding.create(
            "memory_desc", "memory_desc_create_with_strides", *args, binding.dims(plain.strides)
        )

    @classmethod
    def of_scalar(cls, binding: Binding, data_type: str) -> "MemoryDesc":
        md = cls.__new__(cls)
        dt = value_of("data_type", data_type)
        md.handle = binding.create("memory_desc", "memory_desc_create_host_scalar", dt)
        return md


class PostOps:
    """oneDNN's counterpart of zemm.PostOps."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self.handle = binding.create("post_ops", "post_ops_create")

    def append_sum(self, scale: float, zero_point: int, data_type: str) -> None:
        dt = value_of("data_type", data_type)
        self._binding.call("post_ops_append_sum", self.handle, scale, zero_point, dt)

    def append_eltwise(self, alg: str, alpha: float, beta: float) -> None:
        number = value_of("alg_kind", alg)
        self._binding.call("post_ops_append_eltwise", self.handle, number, alpha, beta)

    def append_binary(self, alg: str, src1: MemoryDesc, src2: MemoryDesc | None = None) -> None:
        number = value_of("alg_kind", alg)
        if src2 is None:
            self._binding.call("post_ops_append_binary", self.handle, number, src1.handle)
        else:
            self._binding.call("post_ops_append_binary_v2", self.handle, number, src1.handle, src2.handle)

    def append_prelu(self, mask: int) -> None:
        self._binding.call("post_ops_append_prelu", self.handle, mask)

    def append_dw(self) -> None:
        raise PeerError("a depthwise convolution is no post-op of a matmul")


class Attr:
    """oneDNN's counterpart of zemm.Attr."""

    def __init__(self, binding: Binding) -> None:
        self._binding = binding
        self.handle = binding.create("primitive_attr", "primitive_attr_create")

    def _set(self, what: str, *args: Any) -> None:
        self._binding.call(f"primitive_attr_set_{what}", self.handle, *args)

    def _set_quantisation(
        self, what: str, arg: int, mask: int, groups: Sequence[int], data_type: str, *more: int
    ) -> None:
        dt = value_of("data_type", data_type)
        self._set(what, arg, mask, len(groups), self._binding.dims(groups), dt, *more)

    def set_scales(
        self, arg: int, mask: int, groups: Sequence[int], data_type: str, on_host: bool, mode: str
    ) -> None:
        number = value_of("quantization_mode", mode)
        self._set_quantisation("scales_v3", arg, mask, groups, data_type, int(on_host), number)

    def set_zero_points(
        self, arg: int, mask: int, groups: Sequence[int], data_type: str, on_host: bool
    ) -> None:
        self._set_quantisation("zero_points_v2", arg, mask, groups, data_type, int(on_host))

    def set_precomputed_reductions(self, arg: int, mask: int, groups: Sequence[int], data_type: str) -> None:
        self._set_quantisation("precomputed_reductions", arg, mask, groups, data_type)

    def set_fpmath_mode(self, mode: str, apply_to_int: bool) -> None:
        self._set("fpmath_mode_v2", value_of("fpmath_mode", mode), int(apply_to_int))

    def set_rounding(self, arg: int, mode: str) -> None:
        self._set("rounding", arg, value_of("rounding_mode", mode))

    def set_reduced_range(self, *_: Any) -> None:
        """oneDNN has no such attribute: it computes the same without."""

    def __getattr__(self, setter: str) -> Callable[[Any], None]:
        """The setter of another attribute. PeerError: oneDNN lacks it."""
        row = ATTRIBUTES.get(setter.removeprefix("set_"))
        if row is None:
            raise AttributeError(setter)
        if row.is_extension:
            drops = f" (--peer-{row.option}=none drops it)" if row.for_peers else ""
            raise PeerError(f"it has no --{row.option}{drops}")
        return lambda value: self._set(
            row.name, int(value) if row.kind == "flag" else value_of(row.name, value)
        )

    def set_dropout(self, *parameters: Any) -> None:
        raise PeerError("peers are given no --attr-dropout")

    def set_post_ops(self, post_ops: PostOps) -> None:
        self._set("post_ops", post_ops.handle)


class MatmulPrimitiveDesc:
    """oneDNN's counterpart of zemm.MatmulPrimitiveDesc. engine: that of the binding."""

    def __init__(
        self,
        binding: Binding,
        engine: Any,
        src: MemoryDesc,
        weights: MemoryDesc,
        dst: MemoryDesc,
        bias: MemoryDesc | None = None,
        attr: Attr | None = None,
    ) -> None:
        null = binding.ffi.NULL
        self._binding = binding
        args = (engine, src.handle, weights.handle, bias.handle if bias else null, dst.handle)
        self.handle = binding.create(
            "primitive_desc", "matmul_primitive_desc_create", *args, attr.handle if attr else null
        )

    @property
    def impl_info(self) -> str:
        ffi = self._binding.ffi
        out = ffi.new("const char **")
        self._binding.call("primitive_desc_query", self.handle, value_of("query", "impl_info_str"), 0, out)
        return str(ffi.string(out[0]).decode())

    def exec_arg_md(self, arg: int) -> Any:
        """A copy of the descriptor of an execution argument."""
        query = value_of("query", "exec_arg_md")
        found = self._binding.lib.dnnl_primitive_desc_query_md(self.handle, query, arg)
        return self._binding.create("memory_desc", "memory_desc_clone", found)


def new_memory(binding: Binding, md: Any) -> Any:
    """A memory whose buffer the library allocates."""
    allocate = binding.ffi.cast("void *", 2**64 - 1)
    return binding.create("memory", "memory_create", md, binding.engine, allocate)


def new_scalar(binding: Binding, md: Any, value: Bytes) -> Any:
    """A host scalar memory with the bytes of `value`."""
    data = binding.ffi.new("char[8]", value.tobytes())
    return binding.create("memory", "memory_create_host_scalar", md, data)


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


def reordered(binding: Binding, memory: Any, md: Any, wanted: Any) -> Any:
    """The tensor in the layout of the descriptor `wanted`. It is `memory` itself if md, its own, is
    equal."""
    return memory if binding.lib.dnnl_memory_desc_equal(md, wanted) else copied(binding, memory, md, wanted)


def copied(binding: Binding, memory: Any, md: Any, wanted: Any) -> Any:
    """A copy of the tensor, whose descriptor is md, in the layout of the descriptor `wanted`."""
    args = (md, binding.engine, wanted, binding.engine, binding.ffi.NULL)
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
