# SPDX-License-Identifier: Apache-2.0
"""ggml's functions, called from Python: tensors in buffers, graphs, and products by its backends."""

import ctypes
import os
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from support_llama_cpp import BACKEND, BIN

Handle = int | None  # a pointer to an object of ggml
Floats = NDArray[np.float32]
Bytes = NDArray[np.uint8]
F32, I32, I64 = 0, 26, 27  # ggml's numbers of types
USAGE_ANY, USAGE_WEIGHTS = 0, 1
SUCCESS, FAILED = 0, -1
TOLERANCE = 5e-4  # NMSE of a product, by which test-backend-ops judges backends: int8 activations round
EXTRA_OF_TENSOR = 320  # bytes from the beginning of ggml_tensor; test_ggml_abi.py compares it


class InitParams(ctypes.Structure):
    _fields_ = (("size", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("no_alloc", ctypes.c_bool))


_CODES = {
    "p": ctypes.c_void_p,
    "q": ctypes.c_int64,
    "z": ctypes.c_size_t,
    "i": ctypes.c_int,
    "b": ctypes.c_bool,
    "B": ctypes.c_uint8,
    "s": ctypes.c_char_p,
    "P": InitParams,
    "-": None,
}
# The function without "ggml_": its result, then its arguments.
_FUNCTIONS = {
    "init": "pP",
    "free": "-p",
    "new_tensor_4d": "ppiqqqq",
    "new_graph": "pp",
    "build_forward_expand": "-pp",
    "mul_mat": "pppp",
    "mul_mat_id": "ppppp",
    "add": "pppp",
    "cpy": "pppp",
    "get_rows": "pppp",
    "set_rows": "ppppp",
    "reshape_3d": "pppqqq",
    "permute": "pppiiii",
    "view_4d": "pppqqqqzzzz",
    "view_2d": "pppqqzz",
    "nbytes": "zp",
    "row_size": "ziq",
    "set_name": "pps",
    "get_data": "pp",
    "set_input": "-p",
    "set_output": "-p",
    "version": "s",
    "backend_load": "ps",
    "backend_unload": "-p",
    "backend_load_all_from_path": "-s",
    "backend_dev_by_name": "ps",
    "backend_dev_init": "pps",
    "backend_dev_supports_op": "bpp",
    "backend_dev_buffer_type": "pp",
    "backend_dev_backend_reg": "pp",
    "backend_reg_get_proc_address": "pps",
    "backend_free": "-p",
    "backend_name": "sp",
    "backend_graph_compute": "ipp",
    "backend_alloc_ctx_tensors_from_buft": "ppp",
    "backend_buffer_set_usage": "-pi",
    "backend_buffer_clear": "-pB",
    "backend_buffer_free": "-p",
    "backend_buft_name": "sp",
    "backend_tensor_alloc": "ippp",
    "backend_tensor_set": "-ppzz",
    "backend_tensor_get": "-ppzz",
    "backend_tensor_memset": "-pBzz",
    "backend_sched_new": "pppizbb",
    "backend_sched_free": "-p",
    "backend_sched_reset": "-p",
    "backend_sched_reserve": "bpp",
    "backend_sched_alloc_graph": "bpp",
    "backend_sched_graph_compute": "ipp",
    "backend_sched_get_tensor_backend": "ppp",
}


class Functions:
    """functions.mul_mat(..) is ggml_mul_mat(..)."""

    def __init__(self) -> None:
        library = ctypes.CDLL(str(BIN / "libggml.so"))  # and libggml-base.so, with which it is linked
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, f"ggml_{name}")
            function.restype, function.argtypes = _CODES[result], [_CODES[code] for code in arguments]
            setattr(self, name, function)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"list {name} in _FUNCTIONS")


@cache
def api() -> Functions:
    """ggml with its CPU backend."""
    functions = Functions()
    functions.backend_load_all_from_path(bytes(BIN))
    return functions


def load_zemm() -> Handle:
    """The registry of zemm's backend, or None. It takes all its types, unless the variable is set."""
    os.environ.setdefault("GGML_ZEMM_ALL_TYPES", "1")
    return api().backend_load(bytes(BACKEND))


@cache
def device(name: str) -> Handle:
    """ "zemm" or "CPU"."""
    api()
    if name == "zemm":
        assert load_zemm()
    found = api().backend_dev_by_name(name.encode())
    assert found
    return found


def backend(name: str) -> Handle:
    """One with two threads, as llama.cpp makes it."""
    made = api().backend_dev_init(device(name), None)
    assert made
    registry = api().backend_dev_backend_reg(device(name))
    set_threads = api().backend_reg_get_proc_address(registry, b"ggml_backend_set_n_threads")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)(set_threads)(made, 2)
    return made


@cache
def shared_backend(name: str) -> Handle:
    """One that all tests of a process use."""
    return backend(name)


@cache
def repackers() -> dict[str, Handle]:
    """The buffer types in which ggml's CPU device repacks weights on this CPU, by name: CPU_REPACK, AMX."""
    registry = api().backend_dev_backend_reg(device("CPU"))
    list_types = api().backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
    kinds = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(list_types)(device("CPU"))
    found: dict[str, Handle] = {}
    while kind := kinds[len(found)]:
        found[api().backend_buft_name(kind).decode()] = kind
    return found


def repacks(place: str, kind: int) -> bool:
    """Whether ggml's CPU device repacks weights of the type in buffers of this name, to multiply by them."""
    tensors = Tensors()
    w = tensors.new(kind, 256, 64)
    tensors.allocate(place)
    node = api().mul_mat(tensors.context, w, tensors.new(F32, 256, 1))
    is_so = api().backend_dev_supports_op(device("CPU"), node)
    tensors.free()
    return bool(is_so)


class Tensors:
    """Tensors that are in one buffer."""

    def __init__(self) -> None:
        self.context = api().init(InitParams(1 << 20, None, True))
        self.buffer: Handle = None

    def new(self, kind: int, *dims: int, name: str = "w") -> Handle:
        """dims: in ggml's order, which begins with the contiguous one."""
        made = api().new_tensor_4d(self.context, kind, *dims, *[1] * (4 - len(dims)))
        api().set_name(made, name.encode())
        return made

    def allocate(self, where: str, usage: int = USAGE_ANY) -> None:
        """In the buffer type of the device, or in the one of this name in which ggml's CPU device repacks."""
        kinds = repackers()
        buffers = kinds[where] if where in kinds else api().backend_dev_buffer_type(device(where))
        self.buffer = api().backend_alloc_ctx_tensors_from_buft(self.context, buffers)
        if self.buffer:
            api().backend_buffer_set_usage(self.buffer, usage)

    def free(self) -> None:
        if self.buffer:
            api().backend_buffer_free(self.buffer)
        api().free(self.context)


def set_bytes(tensor: Handle, data: NDArray[Any], offset: int = 0) -> None:
    if not data.size:
        return  # empty tensors have no buffer
    data = np.ascontiguousarray(data)
    api().backend_tensor_set(tensor, data.ctypes.data, offset, data.nbytes)


def get_bytes(tensor: Handle, offset: int = 0, size: int | None = None) -> Bytes:
    data = np.empty(api().nbytes(tensor) - offset if size is None else size, np.uint8)
    api().backend_tensor_get(tensor, data.ctypes.data, offset, data.nbytes)
    return data


def in_buffer(where: str, kind: int, blocks: Bytes, usage: int, name: str = "w") -> tuple[Tensors, Handle]:
    """Weights of the blocks [.., N, bytes] in a buffer of the device."""
    tensors = Tensors()
    w = tensors.new(kind, *dims_of(kind, blocks), name=name)
    tensors.allocate(where, usage)
    set_bytes(w, blocks)
    return tensors, w


def dims_of(kind: int, blocks: Bytes) -> list[int]:
    """ggml's dims of blocks [.., N, bytes]."""
    k = blocks.shape[-1] * 1024 // api().row_size(kind, 1024)
    return [k, *reversed(blocks.shape[:-1])]


class Product:
    """mul_mat(w, src), or mul_mat_id(w, src, ids), as a graph.

    src: f32 [.., M, K]. ids: s32 [tokens, used].
    """

    def __init__(self, w: Handle, src: Floats, ids: NDArray[np.int32] | None = None) -> None:
        self.tensors = Tensors()
        context = self.tensors.context
        self.src, self.values = self.tensors.new(F32, *reversed(src.shape), name="src"), src
        self.inputs: list[tuple[Handle, NDArray[Any]]] = [(self.src, src)]
        if ids is None:
            self.node = api().mul_mat(context, w, self.src)
        else:
            of_ids = self.tensors.new(I32, *reversed(ids.shape), name="ids")
            self.inputs.append((of_ids, ids))
            self.node = api().mul_mat_id(context, w, self.src, of_ids)
        self.graph = api().new_graph(context)
        api().build_forward_expand(self.graph, self.node)

    def result(self, n: int, rows: Sequence[int]) -> Floats:
        values = get_bytes(self.node).view(np.float32).reshape(*rows, n).copy()
        self.tensors.free()
        return values

    def status(self, of: Handle) -> int:
        """Compute it all with one backend."""
        self.tensors.allocate("CPU")
        for tensor, values in self.inputs:
            set_bytes(tensor, values)
        return api().backend_graph_compute(of, self.graph)


def product(name: str, w: Handle, src: Floats, n: int, of: Handle = None) -> Floats:
    """src [.., M, K] times the weights w [N, K], [.., M, N], by the device's backend."""
    p = Product(w, src)
    assert p.status(of or shared_backend(name)) == SUCCESS
    return p.result(n, src.shape[:-1])


def product_of_experts(name: str, w: Handle, src: Floats, ids: NDArray[np.int32], n: int) -> Floats:
    """src [tokens, 1 or used, K] and ids [tokens, used]: [tokens, used, N]."""
    p = Product(w, src, ids)
    assert p.status(shared_backend(name)) == SUCCESS
    return p.result(n, ids.shape)


def scheduled(w: Handle, src: Floats, n: int) -> tuple[str, Floats]:
    """As llama.cpp computes it: the name of the backend that ggml chose, and the product."""
    backends = (ctypes.c_void_p * 2)(shared_backend("zemm"), shared_backend("CPU"))
    sched = api().backend_sched_new(ctypes.addressof(backends), None, 2, 2048, False, False)
    p = Product(w, src)
    for tensor, _ in p.inputs:
        api().set_input(tensor)
    assert api().backend_sched_alloc_graph(sched, p.graph)
    for tensor, values in p.inputs:
        set_bytes(tensor, values)
    assert api().backend_sched_graph_compute(sched, p.graph) == SUCCESS
    by = api().backend_name(api().backend_sched_get_tensor_backend(sched, p.node)).decode()
    got = p.result(n, src.shape[:-1])
    api().backend_sched_free(sched)
    return by, got


def error(got: Floats, want: Floats) -> float:
    """The normalised mean square error."""
    return float(np.square(got.astype(np.float64) - want).sum() / np.square(want.astype(np.float64)).sum())
