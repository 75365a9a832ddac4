# SPDX-License-Identifier: Apache-2.0
"""The only file that uses the cffi module: calls with error handling, enum names, and
ownership of handles.

`create()` makes handles, which are cffi pointers. ffi.gc destroys a handle when nothing refers to
it, and keeps the objects that it was made from alive until then: an engine lives as long as its
streams and memories, in whatever order Python drops the objects.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zemm._library import check
from zemm.errors import BY_STATUS, DeviceError, InvalidArgumentsError

try:
    from zemm._zemm import ffi, lib
except ImportError as error:
    if "GLIBC" in str(error):
        raise ImportError(
            f"this wheel of zemm was made on a system with a newer C library ({error}): "
            "pip install '.[cpu]' in a clone makes one for this system"
        ) from error
    raise

NULL = ffi.NULL
_ADDRESS, _POINTER, _SIZES = (ffi.typeof(name) for name in ("uintptr_t", "void *", "int64_t[]"))
RUNTIME_DIM = -(2**63)
MAX_NDIMS: int = lib.ZEMM_MAX_NDIMS

ARG: dict[str, int] = {
    name.removeprefix("ZEMM_ARG_"): getattr(lib, name) for name in dir(lib) if name.startswith("ZEMM_ARG_")
}

# ARG_SRC, not ARG_FROM or ARG_SRC_0, which are the same number.
_ARG_NAMES = {
    ARG[name]: f"ARG_{name}" for name in sorted(ARG, key=len, reverse=True) if name not in ("FROM", "TO")
}


def arg_name(arg: int) -> str:
    """The name of an argument of an execution, or else its number."""
    return _ARG_NAMES.get(arg, str(arg))


# For each enum zemm_<enum>_t, the prefix of its values that zemm_...2str() leaves out.
_PREFIXES = {
    "status": "zemm_",
    "data_type": "zemm_",
    "format_tag": "zemm_",
    "format_kind": "zemm_",
    "sparse_encoding": "zemm_",
    "engine_kind": "zemm_",
    "fpmath_mode": "zemm_fpmath_mode_",
    "accumulation_mode": "zemm_accumulation_mode_",
    "scratchpad_mode": "zemm_scratchpad_mode_",
    "rounding_mode": "zemm_rounding_mode_",
    "quantization_mode": "zemm_quantization_mode_",
    "primitive_kind": "zemm_",
    "alg_kind": "zemm_",
    "prop_kind": "zemm_",
    "query": "zemm_query_",
    "peak": "zemm_peak_",
}


def _names(enum: str) -> dict[str, int]:
    """Values of an enum by name. In C the values `undef` and `any` contain the enum's name; here
    they do not."""
    values: dict[str, int] = ffi.typeof(f"zemm_{enum}_t").relements
    prefix = _PREFIXES[enum]
    names = (
        n.removeprefix(f"zemm_{enum}_").removeprefix(prefix).replace("any_engine", "any") for n in values
    )
    return dict(zip(names, values.values(), strict=True))


_VALUES = {enum: _names(enum) for enum in _PREFIXES}
_NAMES = {enum: {value: name for name, value in values.items()} for enum, values in _VALUES.items()}


def value_of(enum: str, name: str) -> int:
    """The number of an enum value, such as `value_of("data_type", "bf16")`. ValueError if there is
    none."""
    try:
        return _VALUES[enum][name]
    except (KeyError, TypeError):
        choices = ", ".join(n for n in _VALUES[enum] if n != "max")
        raise InvalidArgumentsError(f"{enum} {name!r} is none of: {choices}") from None


def name_of(enum: str, value: int) -> str:
    return _NAMES[enum].get(value, f"unknown {enum}")


def names_of(enum: str) -> tuple[str, ...]:
    return tuple(_VALUES[enum])


def last_error() -> str:
    return ffi.string(lib.zemm_last_error()).decode(errors="replace")


def check_status(status: int) -> None:
    """Raise the exception that belongs to the status, unless it is success."""
    if status != lib.zemm_success:
        name = name_of("status", status)
        raise BY_STATUS.get(name, DeviceError)(in_python(last_error()) or name, name)


_NAMES_IN_PYTHON = (
    (r"^zemm_primitive_attr_(set_\w+): ", r"Attr.\1(): "),
    (r"^zemm_post_ops_(append_\w+): ", r"PostOps.\1(): "),
    (r"^zemm_\w+: ", ""),
    (r"\bZEMM_ARG_", "ARG_"),
    (r"\b(src1|src2|mask)_desc\b", r"\1_md"),
    (r"\bgroup_ndims\b", "number of groups"),
    (r"\bgroup_dims\b", "groups"),
)


def in_python(sentence: str) -> str:
    """A sentence of the library with Python's names of methods and arguments."""
    for in_c, name in _NAMES_IN_PYTHON:
        sentence = re.sub(in_c, name, sentence)
    return sentence


def plain(function: str, *args: Any) -> Any:
    """Call zemm_<function> and return its value. The caller has checked that the arguments fit
    their parameters."""
    return getattr(lib, f"zemm_{function}")(*args)


def call(function: str, *args: Any) -> None:
    """Call zemm_<function>, which returns a status, and raise the exception of a failure."""
    check_status(plain(function, *args))


def output(ctype: str, function: str, *args: Any) -> Any:
    """Call zemm_<function>, whose last parameter is a pointer to ctype, and return what it wrote
    there."""
    out = ffi.new(f"{ctype} *")
    call(function, *args, out)
    return out[0]


def create(
    kind: str,
    function: str,
    *args: Any,
    keep: Iterable[Any] = (),
    before: Callable[[Any], Any] | None = None,
) -> Any:
    """A new zemm_<kind>_t, made by zemm_<function>(&handle, args...).

    The result owns the C object and keeps the objects in `keep` alive until that is destroyed.
    `before(handle)` is called before it is destroyed.
    """
    out = ffi.new(f"zemm_{kind}_t *")
    call(function, out, *args)
    kept = tuple(keep)
    destroy_function = getattr(lib, f"zemm_{kind}_destroy")

    def destroy(handle: Any, _kept: tuple[Any, ...] = kept) -> None:
        if before is not None:
            before(handle)
        destroy_function(handle)

    return ffi.gc(out[0], destroy)


def address(handle: Any) -> int:
    return int(ffi.cast("uintptr_t", handle))


def address_of(data: NDArray[Any]) -> int:
    """Where the elements of a dense array are. (Its attribute `ctypes` takes twice as long.)"""
    return int(ffi.cast(_ADDRESS, pointer_to(data)))


def pointer(value: int) -> Any:
    return ffi.cast(_POINTER, value)


def pointer_to(data: NDArray[Any]) -> Any:
    """The elements of a dense array, which are alive as long as the pointer."""
    try:
        return ffi.from_buffer(data)
    except ValueError:  # types that numpy does not know, such as bf16, have no buffer
        return ffi.from_buffer(data.view(np.uint8))


def sizes_of(data: NDArray[np.int64]) -> Any:
    """The sizes of bound_call(), without a copy."""
    return ffi.from_buffer(_SIZES, data)


CHAIN_RUN = address(ffi.addressof(lib, "chain_run"))
ALLOCATE = pointer(2 ** (8 * ffi.sizeof("void *")) - 1)


def pointers(values: Sequence[Any]) -> Any:
    return ffi.new("void *[]", list(values))


def dims(values: Sequence[int], what: str = "dims") -> tuple[int, Any]:
    """The number of dimensions and a zemm_dims_t. what: the name of the values in errors."""
    return _c_array("zemm_dims_t", values, what)


def ints(values: Sequence[int], what: str) -> tuple[int, Any]:
    """The number of values and an array of ints."""
    return _c_array("int[]", values, what)


def _c_array(ctype: str, values: Sequence[int], what: str) -> tuple[int, Any]:
    numbers = check.integers(values, what, MAX_NDIMS)
    try:
        return len(numbers), ffi.new(ctype, numbers)
    except OverflowError:
        entries = ", ".join(check.shown(number) for number in numbers)
        raise InvalidArgumentsError(f"{what} ({entries}) has an entry outside 64 bits") from None


def flags(names: Iterable[str]) -> int:
    """The constants zemm_<name>, or-ed."""
    return sum(getattr(lib, f"zemm_{name}") for name in names)


def wait_ignoring_errors(stream: Any) -> None:
    lib.zemm_stream_wait(stream)


def exec_args(memories: dict[int, Any]) -> Any:
    array = ffi.new("zemm_exec_arg_t[]", len(memories))
    for entry, (arg, memory) in zip(array, memories.items(), strict=True):
        entry.arg = arg
        entry.memory = memory
    return array


def bound_execute(primitive: Any, stream: Any, memories: dict[int, Any]) -> Callable[[], None]:
    """A function that calls zemm_primitive_execute with arguments converted once. The caller keeps
    the handles alive."""
    execute, array, count = lib.zemm_primitive_execute, exec_args(memories), len(memories)

    def call() -> None:
        status = execute(primitive, stream, count, array)
        if status:
            check_status(status)

    return call


def layer_call(
    executions: Sequence[tuple[Any, dict[int, Any]]],
    places: Sequence[tuple[Any, int, int, int]],
    experts: int,
) -> tuple[Any, Any]:
    """Executions in order, with arguments that are converted once. Returns a layer_call of the extension, and
    what to keep alive as long as it.

    places: buffers of memories that each call points to one of its tensors: memory, index of the buffer,
    tensor (for bound_call() 0: src, 1: dst, 2: scratch, 3: where the rows of each expert end), and how many
    bytes after the tensor's begin. experts: how many there are if each call says how many rows each has, else
    0. The caller keeps all handles alive."""
    arrays = [exec_args(args) for _, args in executions]
    entries = ffi.new(
        "layer_execution[]",
        [(primitive, len(args), array) for (primitive, args), array in zip(executions, arrays, strict=True)],
    )
    of_places, ends = ffi.new("layer_place[]", list(places)), ffi.new("int32_t[]", experts)
    call = ffi.new("layer_call *", (len(places), of_places, len(entries), entries, experts, ends))
    return call, (arrays, entries, of_places, ends)


def bound_call(made: tuple[Any, Any]) -> Callable[..., bool]:
    """The result of layer_call() as one call of the extension: a function of stream, src, dst, scratch
    (pointers), sizes, rows and wait. It submits the executions, and waits for the stream if wait is true,
    unless something fails. sizes: the number of rows of each expert, int64, for all `rows` together; NULL
    without experts. False: sizes do not fit, and nothing was done."""
    run, (call, _) = lib.layer_run, made

    def bound(*args: Any, _keep: Any = made) -> bool:
        status = run(call, *args)
        if status > 0:
            check_status(status)
        return status == 0

    return bound


def chain(calls: Sequence[tuple[Any, Any]]) -> Any:
    """Results of layer_call() as chain_run() takes them. The caller keeps them alive."""
    return ffi.new("layer_call *[]", [call for call, _ in calls])


def bound_chain(calls: Sequence[tuple[Any, Any]], ntensors: int) -> Callable[[Any, Sequence[Any]], None]:
    """Several calls of layer_call() as one call of the extension: a function of a stream and of the tensors
    (pointers) that the places of all count. It executes one after the other and waits. Only one thread at a
    time may call it."""
    run, count, array = lib.chain_run, len(calls), chain(calls)
    of_call = ffi.new("void *[]", ntensors)

    def bound(stream: Any, tensors: Sequence[Any], _keep: Any = calls) -> None:
        of_call[0:ntensors] = tensors
        status = run(count, array, stream, of_call)
        if status:
            check_status(status)

    return bound


def widths_of_attention() -> range:
    """Those that a zemm_attention_t may have."""
    step, most = lib.ZEMM_ATTENTION_WIDTH_STEP, lib.ZEMM_ATTENTION_MOST_WIDTH
    return range(step, most + 1, step)


def attention(type_name: str, fields: dict[str, Any]) -> Any:
    """A zemm_attention_t."""
    return ffi.new("zemm_attention_t *", {"type": value_of("data_type", type_name), **fields})


def experts_step(step: str, fields: dict[str, Any]) -> Any:
    """A zemm_experts_t. fields: its other ones; types by name."""
    types = dict.fromkeys(("src_type", "dst_type", "weights_type"), "f32") | fields
    numbers = {
        name: value_of("data_type", types[name]) if name.endswith("_type") else types[name] for name in types
    }
    sizes = dict.fromkeys(("top_k", "experts", "width"), 1)
    return ffi.new("zemm_experts_t *", {"step": getattr(lib, f"zemm_experts_{step}"), **sizes, **numbers})


def query_int(function: str, handle: Any, ctype: str, what: str, *index: int) -> int:
    out = ffi.new(f"{ctype} *")
    call(function, handle, value_of("query", what), *index, out)
    return int(out[0])


def query_string(function: str, handle: Any, what: str, *index: int) -> str:
    out = ffi.new("const char **")
    call(function, handle, value_of("query", what), *index, out)
    return ffi.string(out[0]).decode()


def text(function: str, handle: Any) -> str:
    """The text that zemm_<function>(handle, &text) writes."""
    return ffi.string(output("const char *", function, handle)).decode()


def _sized_text(function: str, *args: Any) -> bytes:
    """The text that zemm_<function>(args..., &size, buffer) writes."""
    size = ffi.new("size_t *")
    call(function, *args, size, NULL)
    buffer = ffi.new("char[]", size[0])
    call(function, *args, size, buffer)
    return bytes(ffi.buffer(buffer, size[0]))


def tuning_of(handle: Any) -> str:
    """The tuning file for a primitive descriptor."""
    return _sized_text("primitive_desc_get_tuning", handle).decode(errors="replace")


def cache_folder() -> str:
    """The folder of built kernels. ValueError: they are not kept."""
    return os.fsdecode(_sized_text("get_cache_folder"))


def modules_of(handle: Any) -> list[tuple[str, str, bytes, dict[int, int], str]]:
    """For each kernel of a primitive descriptor: name, entry point, SPIR-V, constants by id and
    build flags."""
    function = "ze_interop_primitive_desc_get_modules"
    count = ffi.new("int *")
    call(function, handle, count, NULL)
    modules = ffi.new("zemm_ze_module_t[]", count[0])
    call(function, handle, count, modules)
    return [
        (
            ffi.string(m.name).decode(),
            ffi.string(m.kernel).decode(),
            bytes(ffi.buffer(m.spirv, m.spirv_size)),
            {m.constant_ids[i]: m.constant_values[i] for i in range(m.num_constants)},
            ffi.string(m.build_flags).decode(),
        )
        for m in modules
    ]


def md_blob(handle: Any) -> bytes:
    """The bytes of a memory descriptor."""
    size = ffi.new("size_t *")
    call("memory_desc_get_blob", NULL, size, handle)
    buffer = ffi.new("uint8_t[]", size[0])
    call("memory_desc_get_blob", buffer, size, handle)
    return bytes(ffi.buffer(buffer))


def query_dims(handle: Any, what: str, ndims: int) -> tuple[int, ...]:
    """The answer to a memory descriptor's query for an array of dimensions."""
    if ndims == 0:
        return ()
    out = ffi.new("const zemm_dim_t **")
    call("memory_desc_query", handle, value_of("query", what), out)
    return tuple(out[0][0:ndims])


def scalar(data: bytes) -> Any:
    """A C buffer of 8 bytes that begins with the given ones: room for one element of any data
    type."""
    return ffi.new("unsigned char[8]", data)


def scalar_bytes(memory: Any, size: int) -> NDArray[np.uint8]:
    out = scalar(b"")
    call("memory_get_host_scalar_value", memory, out)
    return np.frombuffer(ffi.buffer(out, size), np.uint8).copy()


def with_mapped(memory: Any, index: int, size: int, use: Callable[[NDArray[np.uint8]], Any]) -> Any:
    """Map a memory of `size` bytes, return use(its bytes) and unmap it."""
    if size == 0:
        return use(np.empty(0, np.uint8))
    out = ffi.new("void **")
    call("memory_map_data_v2", memory, out, index)
    mapped = out[0]
    if mapped == NULL:
        raise DeviceError(f"the memory of {size} bytes has no buffer to map (created with a NULL handle)")
    try:
        return use(np.frombuffer(ffi.buffer(mapped, size), np.uint8))
    finally:
        call("memory_unmap_data_v2", memory, mapped, index)


def profiling_times(stream: Any) -> list[int]:
    count = ffi.new("int *")
    call("query_profiling_data", stream, lib.zemm_profiling_data_kind_time, count, NULL)
    times = ffi.new("uint64_t[]", max(count[0], 1))
    call("query_profiling_data", stream, lib.zemm_profiling_data_kind_time, count, times)
    return list(times[0 : count[0]])


def version() -> str:
    """The version of the C library, such as "0.1.0"."""
    v = lib.zemm_version()
    return f"{v.major}.{v.minor}.{v.patch}"
