# SPDX-License-Identifier: Apache-2.0
"""Primitive descriptors, which choose an implementation, and primitives, which run it."""

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from zemm._library import check, library
from zemm._objects.process_bound import ProcessBound
from zemm._terminal import building
from zemm.attributes import Attr
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError, ZemmError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc
from zemm.words import ForwardKind, IntQuery, MdQuery

PD = TypeVar("PD", bound="PrimitiveDesc")


class Module(NamedTuple):
    """How the library builds a kernel: the inputs of zeModuleCreate() and zeKernelCreate()."""

    name: str
    kernel: str
    spirv: bytes
    constants: dict[int, int]  # values of the specialization constants by their ids
    build_flags: str


class PrimitiveDesc(ProcessBound):
    """The common part of primitive descriptors."""

    engine: Engine

    def _make(self, engine: Engine, engines: tuple[Engine, ...], function: str, *args: Any) -> None:
        self.engine = engine
        self._engines = engines
        keep = tuple(e._handle for e in engines)
        self._handle: Any = library.create("primitive_desc", function, *args, keep=keep)

    def _make_product(
        self, function: str, engine: Engine, tensors: tuple[Any, ...], attr: Attr | None, *kind: int
    ) -> None:
        """tensors: src, weights, dst, bias. kind: what the function takes behind the engine."""
        src, weights, dst, bias = tensors
        self._make(
            engine,
            (engine,),
            f"{function}_primitive_desc_create",
            check.handle(engine, Engine, "engine"),
            *kind,
            check.handle(src, MemoryDesc, "src"),
            check.handle(weights, MemoryDesc, "weights"),
            _optional(bias, MemoryDesc, "bias"),
            check.handle(dst, MemoryDesc, "dst"),
            _optional(attr, Attr, "attr"),
        )
        self._keep_problem(tensors, attr)

    def _keep_problem(self, tensors: tuple[MemoryDesc | None, ...], attr: Attr | None) -> None:
        self._tensors, self._settings = tensors, {} if attr is None else dict(attr._made)

    def _problem(self) -> tuple[Any, ...]:
        """The descriptor's parameters, without the engines. They can be hashed if there are no post-ops."""
        tensors = (None if md is None else md.blob for md in self._tensors)  # bytes: without the library
        return type(self), *tensors, frozenset(self._settings.items())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.impl_info} on {self.engine!r}>"

    @property
    def impl_info(self) -> str:
        """The name of the chosen implementation."""
        return library.query_string("primitive_desc_query", self._handle, "impl_info_str", 0)

    def next_impl(self) -> bool:
        """Move on to the next implementation for the problem. False, and no change, if there is
        none."""
        try:
            library.call("primitive_desc_next_impl", self._handle)
        except ZemmError as error:
            if error.status == "last_impl_reached":
                return False
            raise
        return True

    def clone(self: PD) -> PD:
        """A copy, for which next_impl() may choose another implementation."""
        copy = type(self).__new__(type(self))
        copy._make(self.engine, self._engines, "primitive_desc_clone", self._handle)
        copy._tensors, copy._settings = self._tensors, self._settings
        return copy

    def query_md(self, what: MdQuery, index: int = 0) -> MemoryDesc:
        """A copy of a memory descriptor. what: "src_md", "weights_md" (index 1: bias), "dst_md",
        "scratchpad_md" or "exec_arg_md" (index: an ARG number). A zero descriptor if the primitive
        has no such tensor."""
        query = library.value_of("query", check.choice(what, MdQuery, "what"))
        index = check.integer(index, "index")
        handle = library.plain("primitive_desc_query_md", self._handle, query, index)
        if handle == library.NULL:
            raise InvalidArgumentsError(f"index {index} of {what} names no memory descriptor")
        return MemoryDesc._copy_of(handle)

    def query_s64(self, what: IntQuery, index: int = 0) -> int:
        """The answer to a query for an integer: "memory_consumption_s64" (bytes of scratchpad that
        the library allocates) or "cache_blob_id_size_s64". index: 0."""
        check.choice(what, IntQuery, "what")
        check.integer(index, "index", 0, 0)
        return library.query_int("primitive_desc_query", self._handle, "int64_t", what, index)

    def tuning(self) -> str:
        """The text of a file that, named by ZEMM_TUNING, makes the library choose this implementation
        for the problem."""
        return library.tuning_of(self._handle)

    def modules(self) -> tuple[Module, ...]:
        """The modules of the chosen implementation's kernels, that of the main kernel first. Builds
        nothing."""
        return tuple(Module(*fields) for fields in library.modules_of(self._handle))


class MatmulPrimitiveDesc(PrimitiveDesc):
    """dst[.., m, n] = sum over k of src[.., m, k] * weights[.., k, n], with bias and attributes.

    ValueError: the shapes or types make no matmul. NotImplementedError: the library has no
    implementation.
    """

    def __init__(
        self,
        engine: Engine,
        src: MemoryDesc,
        weights: MemoryDesc,
        dst: MemoryDesc,
        bias: MemoryDesc | None = None,
        attr: Attr | None = None,
    ) -> None:
        self._make_product("matmul", engine, (src, weights, dst, bias), attr)


class InnerProductPrimitiveDesc(PrimitiveDesc):
    """dst[n, oc] = sum over ic and all places of src[n, ic, ..] * weights[oc, ic, ..], with bias [OC] and
    attributes. A matmul computes it.

    src and weights have 2 to 5 dimensions. The library chooses the layout of a tensor of tag "any". Scales
    and zero points need an s8 or u8 src; their masks are 0, of weights also 1. prop_kind: both compute the
    same.

    ValueError: the shapes or types make no inner product. NotImplementedError: the library has no
    implementation.
    """

    def __init__(
        self,
        engine: Engine,
        src: MemoryDesc,
        weights: MemoryDesc,
        dst: MemoryDesc,
        bias: MemoryDesc | None = None,
        attr: Attr | None = None,
        prop_kind: ForwardKind = "forward_inference",
    ) -> None:
        check.choice(prop_kind, ForwardKind, "prop_kind")
        kind, function = library.value_of("prop_kind", prop_kind), "inner_product_forward"
        self._make_product(function, engine, (src, weights, dst, bias), attr, kind)
        self._settings["prop_kind"] = (prop_kind,)


class ReorderPrimitiveDesc(PrimitiveDesc):
    """dst = src in another layout or data type, with scales, zero points and a sum post-op from
    attr.

    Its arguments are ARG_FROM and ARG_TO. dst_engine: by default src_engine; another one must be of
    the same device. Scales of dst with the quantization_mode "dynamic_fp" are outputs, see
    zemm_reorder_primitive_desc_create() in zemm.h.

    ValueError: the arguments make no reorder. NotImplementedError: the library has no
    implementation.
    """

    def __init__(
        self,
        src_engine: Engine,
        src: MemoryDesc,
        dst: MemoryDesc,
        attr: Attr | None = None,
        dst_engine: Engine | None = None,
    ) -> None:
        check.instance(src_engine, Engine, "src_engine")
        to = dst_engine if dst_engine is not None else src_engine
        self._make(
            to,
            (src_engine, to),
            "reorder_primitive_desc_create",
            check.handle(src, MemoryDesc, "src"),
            check.handle(src_engine, Engine, "src_engine"),
            check.handle(dst, MemoryDesc, "dst"),
            check.handle(to, Engine, "dst_engine"),
            _optional(attr, Attr, "attr"),
        )
        self._keep_problem((src, dst), attr)


class DynamicQuantizePrimitiveDesc(PrimitiveDesc):
    """Experimental, by the name of oneDNN's draft: dst is src [.., M, K], quantised, with scales, zero
    points and sums of dst's values that the primitive computes.

    symmetric: dst is s8 and there are no zero points; else u8, with zero points (s32, of scale's dims). scale
    has src's dims, but the last one is 1 or the number of groups along K; or all dims are 1. reductions
    (s32): likewise; None: none. attr: a scratchpad mode and a reduced range of dst. Arguments: ARG_SRC,
    ARG_DST, ARG_DYNAMIC_SCALE, ARG_DYNAMIC_ZERO_POINT, ARG_DYNAMIC_REDUCTIONS.

    ValueError: the tensors do not belong together. NotImplementedError: other groups, types or layouts.
    """

    def __init__(
        self,
        engine: Engine,
        src: MemoryDesc,
        dst: MemoryDesc,
        scale: MemoryDesc,
        zero_point: MemoryDesc | None = None,
        reductions: MemoryDesc | None = None,
        attr: Attr | None = None,
    ) -> None:
        name = "dynamic_quantize_symmetric" if zero_point is None else "dynamic_quantize_asymmetric"
        self._make(
            engine,
            (engine,),
            "dynamic_quantize_primitive_desc_create",
            check.handle(engine, Engine, "engine"),
            library.value_of("alg_kind", name),
            check.handle(src, MemoryDesc, "src"),
            check.handle(dst, MemoryDesc, "dst"),
            check.handle(scale, MemoryDesc, "scale"),
            _optional(zero_point, MemoryDesc, "zero_point"),
            _optional(reductions, MemoryDesc, "reductions"),
            _optional(attr, Attr, "attr"),
        )
        self._keep_problem((src, dst, scale, zero_point, reductions), attr)


def _optional(value: Any, kind: type[Any], name: str) -> Any:
    """The C object of a value that may be None."""
    return library.NULL if value is None else check.handle(value, kind, name)


class Primitive(ProcessBound):
    """A matmul, inner product, reorder or dynamic quantisation, ready to run. Several threads may execute it
    at the same time, each on its stream."""

    def __init__(self, pd: PrimitiveDesc) -> None:
        handle = check.handle(pd, PrimitiveDesc, "pd")
        self.engine = pd.engine
        keep = (*(e._handle for e in pd._engines), handle)
        with building.watched(lambda: pd.impl_info):
            self._handle: Any = library.create("primitive", "primitive_create", handle, keep=keep)

    def __repr__(self) -> str:
        return f"<Primitive {self.impl_info} on {self.engine!r}>"

    @property
    def impl_info(self) -> str:
        """The name of the implementation that runs: the descriptor's, or a later one if the driver
        could not build that (the log has a warning then)."""
        return library.query_string("primitive_desc_query", self._desc(), "impl_info_str", 0)

    def _desc(self) -> Any:
        return library.output("const_zemm_primitive_desc_t", "primitive_get_primitive_desc", self._handle)

    def execute(self, stream: Stream, args: Mapping[int, Memory | None]) -> None:
        """Submit the work to the stream. args: memories by ARG number; they stay alive until
        stream.wait(). None is no argument."""
        c_stream, handles = check.handle(stream, Stream, "stream"), _handles(args)
        c_args = library.exec_args(handles)
        library.call("primitive_execute", self._handle, c_stream, len(handles), c_args)
        for handle in (self._handle, *handles.values()):
            stream._in_flight[library.address(handle)] = handle

    def bind(self, stream: Stream, args: Mapping[int, Memory | None]) -> Callable[[], None]:
        """A function that does the same as execute(stream, args), but converts the arguments only
        once. It saves host time in repeated runs, and keeps alive what it uses."""
        c_stream, handles = check.handle(stream, Stream, "stream"), _handles(args)
        call = library.bound_execute(self._handle, c_stream, handles)
        used = (self._handle, *handles.values())

        def submit() -> None:
            call()
            stream._in_flight[id(used)] = used

        return submit


def _handles(args: Mapping[int, Memory | None]) -> dict[int, Any]:
    """The C memories of an execution by their ARG numbers. ValueError: one that is read-only would be
    written to."""
    if not isinstance(args, Mapping):
        raise InvalidArgumentsError(
            f"args is {check.shown(args)}, not a dict such as {{zemm.ARG_SRC: memory}}"
        )
    handles = {}
    for key, memory in args.items():
        try:
            arg = operator.index(key)
        except TypeError:
            raise InvalidArgumentsError(
                f"args has the key {check.shown(key)}, not {_right_key(key)}"
            ) from None
        check.integer(arg, "a key of args")
        if memory is not None:
            name = f"args[{library.arg_name(arg)}]"
            handles[arg] = check.handle(memory, Memory, name)
            if memory.readonly and arg & 0xFF in _OUTPUTS:
                raise InvalidArgumentsError(f"{name} is a read-only memory, but an output")
    return handles


def _right_key(wrong: Any) -> str:
    """How to write the key that was meant."""
    word = wrong.upper() if isinstance(wrong, str) else ""
    return f"zemm.ARG_{word}" if word in library.ARG else "a number such as zemm.ARG_SRC"


# The low byte is the tensor. Its scales, zero points and sums may also be outputs.
_OUTPUTS = tuple(
    library.ARG[name]
    for name in ("DST", "DYNAMIC_SCALE", "DYNAMIC_ZERO_POINT", "DYNAMIC_REDUCTIONS", "SCRATCHPAD")
)
