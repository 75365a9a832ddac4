# SPDX-License-Identifier: Apache-2.0
"""llama.cpp's CPU kernels as a peer: MUL_MAT of f32 by weights in ggml's formats. It quantises src
itself, to the format that belongs to that of the weights."""

from typing import Any

import numpy as np

from zemm.benchdnn.data.cold_cache import Turns, sets_of
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import Floats
from zemm.benchdnn.peers import InTurns, PeerError, limit_spinning, thread_count
from zemm.benchdnn.peers.ggml_blocks import WEIGHT_TYPES, Encoded, encoded
from zemm.benchdnn.peers.ggml_library import TYPES, open_libraries
from zemm.benchdnn.peers.problem import given
from zemm.benchdnn.peers.weight_only import matrices

_TENSORS = 4  # more than any context has


class Ggml:
    """The libraries, with a backend on the CPU."""

    quantises_src = True

    def __init__(self, ffi: Any, base: Any, cpu: Any) -> None:
        self.ffi, self.base = ffi, base
        self.version = ffi.string(base.ggml_version()).decode()
        reg = cpu.ggml_backend_cpu_reg()
        self.device = base.ggml_backend_reg_dev_get(reg, 0)
        self.backend = cpu.ggml_backend_cpu_init()
        cpu.ggml_backend_cpu_set_n_threads(self.backend, thread_count())
        self.plain = base.ggml_backend_cpu_buffer_type()
        self.buffer_types = [*self._extra_buffer_types(reg), self.plain]

    def prepare(self, case: Case, quantise_src: bool = False) -> "MulMat":
        """The graph of a case."""
        found = matrices(
            case, ("f32",), WEIGHT_TYPES, ("f32",), takes_offsets=True, quantises_src=quantise_src
        )
        weights = encoded(case, found)
        if not quantise_src:
            fpmath = given(case, "attr-fpmath") or "--attr-fpmath=strict"
            raise PeerError(
                f"MUL_MAT quantises src, which {fpmath} does not allow: "
                "--quantize=f32 does, and --peer-attr-fpmath=ggml=any"
            )
        return MulMat(self, case, found.src, weights)

    def context(self) -> Any:
        """A new context for a graph and its tensors, without their memory."""
        size = _TENSORS * self.base.ggml_tensor_overhead() + self.base.ggml_graph_overhead()
        params = self.ffi.new("struct ggml_init_params *", (size, self.ffi.NULL, True))
        return self.ffi.gc(self.base.ggml_init(params[0]), self.base.ggml_free)

    def _extra_buffer_types(self, reg: Any) -> list[Any]:
        """The types of buffers in which the CPU backend repacks weights for its fastest kernels."""
        address = self.base.ggml_backend_reg_get_proc_address(reg, b"ggml_backend_dev_get_extra_bufts")
        if not address:
            return []
        listed, found = self.ffi.cast("void **(*)(void *)", address)(self.device), list[Any]()
        while listed[len(found)]:
            found.append(listed[len(found)])
        return found


class _Tensor:
    """A matrix of ggml [rows, row] in a buffer of its own, with its values in `data`."""

    def __init__(self, ggml: Ggml, buffer_type: Any, kind: str, dims: tuple[int, int], data: Any) -> None:
        self._made_of = (ggml, buffer_type, kind, dims, data)
        base = ggml.base
        self._context = ggml.context()
        self.handle = base.ggml_new_tensor_2d(self._context, TYPES[kind], dims[1], dims[0])
        allocated = base.ggml_backend_alloc_ctx_tensors_from_buft(self._context, buffer_type)
        if not allocated:
            raise MemoryError(f"ggml allocates no {data.nbytes} bytes")
        self.buffer = ggml.ffi.gc(allocated, base.ggml_backend_buffer_free)

    def fill(self) -> "_Tensor":
        """Write the values, which may repack them."""
        ggml, data = self._made_of[0], self._made_of[4]
        ggml.base.ggml_backend_tensor_set(self.handle, ggml.ffi.from_buffer(data), 0, data.nbytes)
        return self

    def copied(self) -> "_Tensor":
        return _Tensor(*self._made_of).fill()

    @property
    def nbytes(self) -> int:
        return int(self._made_of[4].nbytes)


class _Graph:
    """A graph that writes the product of weights and src to the memory of dst."""

    def __init__(self, ggml: Ggml, weights: _Tensor, src: _Tensor, dst: _Tensor) -> None:
        base = ggml.base
        self._kept = (ggml, weights, src, dst)
        self._context = ggml.context()
        self.product = base.ggml_mul_mat(self._context, weights.handle, src.handle)
        base.ggml_backend_tensor_alloc(
            dst.buffer, self.product, base.ggml_backend_buffer_get_base(dst.buffer)
        )
        self._graph = base.ggml_new_graph(self._context)
        base.ggml_build_forward_expand(self._graph, self.product)

    def is_supported(self) -> bool:
        ggml = self._kept[0]
        return bool(ggml.base.ggml_backend_dev_supports_op(ggml.device, self.product))

    def run(self) -> None:
        ggml = self._kept[0]
        if status := ggml.base.ggml_backend_graph_compute(ggml.backend, self._graph):
            raise PeerError(f"ggml_backend_graph_compute returned {status}")


class MulMat(InTurns):
    """A product with its tensors. Weights are repacked where ggml has faster kernels for that."""

    def __init__(self, ggml: Ggml, case: Case, src: Floats, weights: Encoded) -> None:
        self._ggml, self._shape = ggml, case.problem.dst
        blocks = np.ascontiguousarray(weights.blocks).view(np.uint8)
        (m, k), n = src.shape, case.problem.n

        def plain(dims: tuple[int, int], data: Floats) -> _Tensor:
            return _Tensor(ggml, ggml.plain, "F32", dims, data).fill()

        values, dst = plain((m, k), np.ascontiguousarray(src)), plain((m, n), np.zeros((m, n), np.float32))
        for buffer_type in ggml.buffer_types:
            packed = _Tensor(ggml, buffer_type, weights.name, (n, k), blocks)
            if _Graph(ggml, packed, values, dst).is_supported():
                break
        else:
            raise PeerError(f"ggml has no MUL_MAT of f32 by {weights.name}")
        name = ggml.ffi.string(ggml.base.ggml_backend_buft_name(buffer_type)).decode()
        self.impl = f"MUL_MAT {weights.name} {name}"
        tensors = {args.SRC: values, args.WEI: packed.fill(), args.DST: dst}
        sets = sets_of(case.options.cold_cache, tensors, lambda t: t.nbytes, _Tensor.copied)
        self._turns = Turns([_Graph(ggml, s[args.WEI], s[args.SRC], s[args.DST]) for s in sets])

    def run(self) -> None:
        self._turns.next().run()

    def dst(self) -> Floats:
        """The result of the last run."""
        result = np.empty(self._shape, np.float32)
        product, buffer = self._turns.last.product, self._ggml.ffi.from_buffer(result)
        self._ggml.base.ggml_backend_tensor_get(product, buffer, 0, result.nbytes)
        return result


def load() -> Ggml:
    """Load the libraries that the environment names."""
    limit_spinning()
    return Ggml(*open_libraries())
