# SPDX-License-Identifier: Apache-2.0
"""Primitives: a descriptor picks the implementation, the primitive runs it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from zemm import _library
from zemm.attributes import Attr
from zemm.engine import Engine, Stream
from zemm.errors import InvalidArgumentsError, ZemmError
from zemm.memory import Memory
from zemm.memory_desc import MemoryDesc

PD = TypeVar("PD", bound="PrimitiveDesc")


class Module(NamedTuple):
    """What zeModuleCreate() and zeKernelCreate() get for a kernel."""

    name: str
    kernel: str
    spirv: bytes
    constants: dict[int, int]  # values of the specialization constants by their ids
    build_flags: str


class PrimitiveDesc:
    """What the descriptors of all kinds have in common."""

    engine: Engine

    def _make(self, engine: Engine, engines: tuple[Engine, ...], function: str, *args: Any) -> None:
        self.engine = engine
        self._engines = engines
        keep = tuple(e._handle for e in engines)
        self._handle: Any = _library.create("primitive_desc", function, *args, keep=keep)

    @property
    def impl_info(self) -> str:
        """Name of the chosen implementation."""
        return _library.query_string("primitive_desc_query", self._handle, "impl_info_str", 0)

    def next_impl(self) -> bool:
        """Move on to the next implementation that takes the problem; False (and no change) after the last."""
        try:
            _library.call("primitive_desc_next_impl", self._handle)
        except ZemmError as error:
            if error.status == "last_impl_reached":
                return False
            raise
        return True

    def clone(self: PD) -> PD:
        copy = type(self).__new__(type(self))
        copy._make(self.engine, self._engines, "primitive_desc_clone", self._handle)
        return copy

    def query_md(self, what: str, index: int = 0) -> MemoryDesc:
        """A copy of the "src_md", "weights_md" (index 1: bias), "dst_md", "scratchpad_md" or "exec_arg_md"
        (index: an ARG number); a zero descriptor where there is none."""
        query = _library.value_of("query", what)
        handle = _library.plain("primitive_desc_query_md", self._handle, query, index)
        if handle == _library.NULL:
            raise InvalidArgumentsError(_library.last_error() or f"query {what} {index} has no answer")
        return MemoryDesc._copy_of(handle)

    def query_s64(self, what: str, index: int = 0) -> int:
        """ "memory_consumption_s64": bytes of scratchpad that the library keeps."""
        return _library.query_int("primitive_desc_query", self._handle, "int64_t", what, index)

    def modules(self) -> tuple[Module, ...]:
        """What the kernels of the chosen implementation are built from, the one that does the work first."""
        return tuple(Module(*fields) for fields in _library.modules_of(self._handle))


class MatmulPrimitiveDesc(PrimitiveDesc):
    """dst[.., m, n] = sum over k of src[.., m, k] * weights[.., k, n] on an engine, with what attr adds.

    ValueError: shapes or types that make no matmul. NotImplementedError: no implementation takes it.
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
        self._make(
            engine,
            (engine,),
            "matmul_primitive_desc_create",
            engine._handle,
            src._handle,
            weights._handle,
            bias._handle if bias is not None else _library.NULL,
            dst._handle,
            attr._handle if attr is not None else _library.NULL,
        )


class ReorderPrimitiveDesc(PrimitiveDesc):
    """dst = src in another layout or data type, with what attr adds: scales, zero points, a sum post-op.

    Arguments: ARG_FROM and ARG_TO. dst_engine: default src_engine; another one must be of the same device.
    Scales of dst with quantization_mode "dynamic_fp" are outputs: see zemm.h.
    ValueError: what makes no reorder. NotImplementedError: what zemm does not have.
    """

    def __init__(
        self,
        src_engine: Engine,
        src: MemoryDesc,
        dst: MemoryDesc,
        attr: Attr | None = None,
        dst_engine: Engine | None = None,
    ) -> None:
        to = dst_engine if dst_engine is not None else src_engine
        self._make(
            to,
            (src_engine, to),
            "reorder_primitive_desc_create",
            src._handle,
            src_engine._handle,
            dst._handle,
            to._handle,
            attr._handle if attr is not None else _library.NULL,
        )


class Primitive:
    """A matmul or reorder ready to run; may be executed from several threads on several streams."""

    def __init__(self, pd: PrimitiveDesc) -> None:
        self.engine = pd.engine
        keep = (*(e._handle for e in pd._engines), pd._handle)
        self._handle: Any = _library.create("primitive", "primitive_create", pd._handle, keep=keep)

    @property
    def impl_info(self) -> str:
        """Name of the implementation that runs: the descriptor's, or the one after it if the driver failed to
        build that (a line in the log says so)."""
        return _library.query_string("primitive_desc_query", self._desc(), "impl_info_str", 0)

    def _desc(self) -> Any:
        return _library.output("const_zemm_primitive_desc_t", "primitive_get_primitive_desc", self._handle)

    def execute(self, stream: Stream, args: Mapping[int, Memory | None]) -> None:
        """Submit to the stream; args: ARG number to memory. The memories stay alive until stream.wait()."""
        handles = {arg: memory._handle for arg, memory in args.items() if memory is not None}
        c_args = _library.exec_args(handles)
        _library.call("primitive_execute", self._handle, stream._handle, len(handles), c_args)
        for handle in (self._handle, *handles.values()):
            stream._in_flight[_library.address(handle)] = handle

    def bind(self, stream: Stream, args: Mapping[int, Memory | None]) -> Callable[[], None]:
        """A call that does what execute(stream, args) does, with its arguments made ready once: for repeated
        runs whose host time counts. It keeps everything alive that it uses."""
        handles = {arg: memory._handle for arg, memory in args.items() if memory is not None}
        call = _library.bound_execute(self._handle, stream._handle, handles)
        used = (self._handle, *handles.values())

        def submit() -> None:
            call()
            stream._in_flight[id(used)] = used

        return submit
