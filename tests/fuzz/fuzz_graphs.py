# SPDX-License-Identifier: Apache-2.0
"""Random graphs of ggml for fuzz.py: zemm's and ggml's CPU device through ggml's scheduler against the CPU
device alone. It needs ZEMM_LLAMA_CPP (CONTRIBUTING.md).

An input is a tape of random bytes from which a program is read: weights of several types, in buffers of
ggml, repacked or not, or in none, and rounds. Each round makes a graph of 2 to 8 nodes with other sizes and
computes it once or twice. Weights are written before, between and in the graphs.
"""

import ctypes
import os
import random
from collections import Counter
from typing import Any, NamedTuple

os.environ |= {"GGML_ZEMM_ALL_TYPES": "1", "GGML_ZEMM_LEAST_ROWS": "2", "GGML_NO_BACKTRACE": "1"}

import numpy as np
import support_ggml as ggml
from numpy.typing import NDArray
from support_ggml import F32, I32, I64, TOLERANCE, USAGE_ANY, USAGE_WEIGHTS, Handle, api
from support_gguf import usual_blocks
from zemm.gguf.formats import FORMATS

TYPES = ("Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q4_K", "Q6_K", "Q2_K")
REPACKED = "CPU_REPACK"
PLACES = (*[("CPU", USAGE_WEIGHTS)] * 3, ("CPU", USAGE_ANY), *[(REPACKED, USAGE_WEIGHTS)] * 3, ("", 0))
WIDTHS, ROWS, EXPERTS = (64, 256), (1, 3, 8, 32, 40), 3


class Tape:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def below(self, count: int) -> int:
        byte = self.data[self.at] if self.at < len(self.data) else 0
        self.at += 1
        return byte % count

    def pick(self, items: Any) -> Any:
        return items[self.below(len(items))]


class Weights:
    """[E, N, K], or [N, K] without experts. A tensor without a place is new in each round."""

    def __init__(self, tape: Tape, k: int, experts: int, place: tuple[str, int] | None = None) -> None:
        names = [name for name in TYPES if k % FORMATS[name].elements == 0]
        self.name = tape.pick(names)
        self.kind = FORMATS[self.name].number
        self.shape = (experts, tape.pick(WIDTHS), k)[0 if experts else 1 :]
        self.where, self.usage = place or tape.pick(PLACES)
        self.tensors: ggml.Tensors | None = None
        self.handle: Handle = None

    def make(self, tensors: ggml.Tensors) -> Handle:
        name = "blk.0.ffn_up_exps.weight" if len(self.shape) == 3 else "blk.0.ffn_up.weight"
        return tensors.new(self.kind, *reversed(self.shape), name=name)

    def random(self, rng: np.random.Generator) -> ggml.Bytes:
        return usual_blocks(self.name, self.shape, rng)


class Value(NamedTuple):
    """A tensor of f32 in a graph: up to three dims in ggml's order. products: in its history."""

    handle: Handle
    dims: tuple[int, int, int]
    products: int
    is_dense: bool = True
    is_view: bool = False


class Result(NamedTuple):
    values: NDArray[Any]
    products: int
    rows: int

    @property
    def tolerance(self) -> float:
        """Both sides quantise activations, ggml in groups of up to 256, whose errors add up in few or equal
        rows: of one row by Q4_K zemm's result was off by 4e-5, ggml's by 6e-4. Products of products have
        outliers, which coarsen their groups: 1.1e-3. One wrong row of 80 is off by about 1e-2."""
        return 10 * TOLERANCE * max(1, 8 / self.rows)


class Program:
    """One run of a tape. alone: by ggml's CPU device only, in whose buffers all weights are."""

    def __init__(self, data: bytes, *, alone: bool, repacked: set[str]) -> None:
        self.tape, self.alone, self.repacked = Tape(data), alone, repacked
        self.rng = np.random.default_rng(list(data[:8]))
        self.results: list[Result] = []
        self.by: Counter[str] = Counter()
        names = ["CPU"] if alone else ["zemm", "CPU"]
        backends = (ctypes.c_void_p * len(names))(*map(ggml.shared_backend, names))
        self.sched = api().backend_sched_new(ctypes.addressof(backends), None, len(names), 2048, False, False)

    def run(self) -> list[Result]:
        tape = self.tape
        self.weights = [Weights(tape, k, experts) for experts in (0, EXPERTS) for k in (*WIDTHS, 256)]
        self.weights += [Weights(tape, k, 0, PLACES[0]) for k in WIDTHS]  # which a graph may use otherwise
        for w in self.weights:
            if w.where:
                w.tensors = ggml.Tensors()
                w.handle = w.make(w.tensors)
                w.tensors.allocate(self.place_of(w), w.usage)
                ggml.set_bytes(w.handle, w.random(self.rng))
        for _ in range(1 + tape.below(3)):
            self.round()
            for w in self.weights:
                if w.where and tape.below(2):
                    self.write_between(w)
        for w in self.weights:
            if w.tensors:
                if not self.is_repacked(w):
                    self.results.append(Result(ggml.get_bytes(w.handle), 0, 1))
                w.tensors.free()
        api().backend_sched_free(self.sched)
        return self.results

    # Writes outside of graphs.

    def write_between(self, w: Weights) -> None:
        new = w.random(self.rng).reshape(-1)
        half = slice(new.size // 3, new.size // 2)
        first_rows = new[: new.size // w.shape[-2] * (w.shape[-2] // 2)]
        match self.tape.below(7):
            case 0:
                ggml.set_bytes(w.handle, new)
            case _ if self.is_repacked(w):
                self.allocate_again(w)
            case 1:
                ggml.set_bytes(w.handle, new[half], half.start)
            case 2:
                api().backend_tensor_memset(w.handle, 0, 0, first_rows.size)
            case 3:
                assert w.tensors
                api().backend_buffer_clear(w.tensors.buffer, 0)
            case 4:  # as host memory
                ctypes.memmove(api().get_data(w.handle), first_rows.ctypes.data, first_rows.size)
            case 5:
                self.write_by_cpu(w)
            case _:
                self.allocate_again(w)

    def is_repacked(self, w: Weights) -> bool:
        """Whether ggml's CPU device keeps it repacked in the run with zemm: it only multiplies by it then."""
        return w.where == REPACKED and w.name in self.repacked

    def place_of(self, w: Weights) -> str:
        return REPACKED if self.is_repacked(w) and not self.alone else "CPU"

    def write_by_cpu(self, w: Weights) -> None:
        """By ggml_cpy in a graph that ggml's CPU backend computes alone."""
        tensors, graphs = ggml.Tensors(), ggml.Tensors()
        source = tensors.new(F32, *reversed(w.shape))
        tensors.allocate("CPU")
        ggml.set_bytes(source, self.floats(*w.shape))
        graph = api().new_graph(graphs.context)
        api().build_forward_expand(graph, api().cpy(graphs.context, source, w.handle))
        assert api().backend_graph_compute(ggml.shared_backend("CPU"), graph) == ggml.SUCCESS
        graphs.free()
        tensors.free()

    def allocate_again(self, w: Weights) -> None:
        """Often at the same address, of another type."""
        assert w.tensors
        w.tensors.free()
        again = Weights(self.tape, w.shape[-1], (len(w.shape) == 3 and EXPERTS) or 0)
        w.name, w.kind, w.shape = again.name, again.kind, again.shape
        w.tensors = ggml.Tensors()
        w.handle = w.make(w.tensors)
        w.tensors.allocate(self.place_of(w), w.usage)
        ggml.set_bytes(w.handle, w.random(self.rng))

    # Graphs.

    def floats(self, *shape: int) -> ggml.Floats:
        return self.rng.standard_normal(shape).astype(np.float32)

    def round(self) -> None:
        tape = self.tape
        self.graph = ggml.Tensors()
        self.context = self.graph.context
        self.cgraph = api().new_graph(self.context)
        self.inputs: list[tuple[Handle, Any]] = []  # and a function that makes its contents
        self.nodes: list[Value] = []
        self.here: dict[int, Handle] = {}  # weights without a place, by their index
        rows = tape.pick(ROWS)
        self.values = [self.input(width, rows) for width in WIDTHS]
        moves = (self.write, self.add, self.cpy, self.view, self.reshape, self.permute, self.get_rows)
        operations = (*[self.mul_mat] * 4, *[self.mul_mat_id] * 2, *moves)
        for _ in range(2 + tape.below(7)):
            tape.pick(operations)()
        results = [v for v in self.nodes if not v.is_view and (v is self.nodes[-1] or tape.below(2))]
        for v in results:
            api().set_output(v.handle)
        api().backend_sched_reset(self.sched)
        # ggml 0.25.3 crashes without this, also alone: it uses the allocation of the graph before, of as many
        # nodes and leafs, for leafs that had memory of their own there and have none here.
        assert api().backend_sched_reserve(self.sched, self.cgraph)
        assert api().backend_sched_alloc_graph(self.sched, self.cgraph)
        for again in range(1 + tape.below(2)):
            if again:
                for w in self.weights:
                    if w.where and not tape.below(3):
                        ggml.set_bytes(w.handle, w.random(self.rng))
            for tensor, contents in self.inputs:
                values = contents()
                if api().get_data(tensor):  # a node uses it
                    ggml.set_bytes(tensor, values)
            assert api().backend_sched_graph_compute(self.sched, self.cgraph) == ggml.SUCCESS
            for v in results:
                values = ggml.get_bytes(v.handle).view(np.float32)
                self.results.append(Result(values, v.products, values.size // v.dims[0]))
        for v in self.nodes:
            by = api().backend_sched_get_tensor_backend(self.sched, v.handle)
            self.by[api().backend_name(by).decode()] += not v.is_view
        self.graph.free()

    def leaf(self, kind: int, dims: tuple[int, ...], contents: Any, *, is_input: bool = True) -> Handle:
        tensor = self.graph.new(kind, *dims, name="leaf")
        if is_input:
            api().set_input(tensor)
        self.inputs.append((tensor, contents))
        return tensor

    def input(self, width: int, rows: int, more: int = 1) -> Value:
        dims = (width, rows, more)
        return Value(self.leaf(F32, dims, lambda: self.floats(more, rows, width)), dims, 0)

    def indices(self, kind: int, dims: tuple[int, ...], below: int) -> Handle:
        dtype = np.int32 if kind == I32 else np.int64
        return self.leaf(kind, dims, lambda: self.rng.integers(0, below, dims[::-1]).astype(dtype))

    def node(self, handle: Handle, dims: tuple[int, int, int], products: int, **more: bool) -> Value:
        made = Value(handle, dims, products, **more)
        api().build_forward_expand(self.cgraph, handle)
        self.nodes.append(made)
        self.values.append(made)
        return made

    def some(self, *, dense: bool = False) -> Value:
        return self.tape.pick([v for v in self.values if v.is_dense or not dense])

    def some_weights(
        self, k: int, *, experts: bool, viewed: bool = False, repacked: bool = False
    ) -> tuple[Handle, Weights]:
        """viewed: a view of them is used, for which ggml's scheduler must know where they are."""
        fitting = [w for w in self.weights if w.shape[-1] == k and (len(w.shape) == 3) == experts]
        w = self.tape.pick([w for w in fitting if repacked or not self.is_repacked(w)])
        tensor = self.tensor_of(w)
        if viewed:
            api().set_input(tensor)
        return tensor, w

    def tensor_of(self, w: Weights) -> Handle:
        if w.where:
            return w.handle
        index = self.weights.index(w)
        if index not in self.here:
            is_input = self.tape.below(2) > 0
            self.here[index] = self.leaf(w.kind, w.shape[::-1], lambda: w.random(self.rng), is_input=is_input)
        return self.here[index]

    def mul_mat(self) -> None:
        x = self.some()
        is_part = self.tape.below(4) == 0  # some rows of the weights
        tensor, w = self.some_weights(x.dims[0], experts=False, viewed=is_part, repacked=not is_part)
        n = w.shape[0]
        if is_part:
            row = api().row_size(w.kind, w.shape[1])
            tensor, n = api().view_2d(self.context, tensor, w.shape[1], n // 2, row, row * (n // 4)), n // 2
        handle = api().mul_mat(self.context, tensor, x.handle)
        made = self.node(handle, (n, *x.dims[1:]), x.products + 1)
        if n not in WIDTHS:  # so that nodes fit to each other
            self.values.remove(made)

    def mul_mat_id(self) -> None:
        x = self.some(dense=True)
        tokens, used = x.dims[1] * x.dims[2], 1 + self.tape.below(2)
        tensor, w = self.some_weights(x.dims[0], experts=True, repacked=True)
        rows = api().reshape_3d(self.context, x.handle, x.dims[0], 1, tokens)
        ids = self.indices(I32, (used, tokens), EXPERTS)
        handle = api().mul_mat_id(self.context, tensor, rows, ids)
        self.node(handle, (w.shape[1], used, tokens), x.products + 1)

    def write(self) -> None:
        """Weights are written in the graph, as a whole or some rows; the next product is by the result."""
        tensor, w = self.some_weights(self.some().dims[0], experts=False, viewed=True)
        n, k = w.shape
        if self.tape.below(2):
            written = api().cpy(self.context, self.input(k, n).handle, tensor)
        else:
            rows = self.leaf(I64, (8,), lambda: self.rng.permutation(n)[:8].astype(np.int64))
            written = api().set_rows(self.context, tensor, self.input(k, 8).handle, rows)
        api().build_forward_expand(self.cgraph, written)
        if self.tape.below(2):
            x = self.tape.pick([v for v in self.values if v.dims[0] == k])
            self.node(api().mul_mat(self.context, written, x.handle), (n, *x.dims[1:]), x.products + 1)

    def add(self) -> None:
        a = self.some()
        b = self.tape.pick([v for v in self.values if v.dims == a.dims])
        self.node(api().add(self.context, a.handle, b.handle), a.dims, a.products + b.products)

    def cpy(self) -> None:
        """Into another tensor of the graph."""
        x = self.some()
        to = self.graph.new(F32, *x.dims, name="to")
        self.node(api().cpy(self.context, x.handle, to), x.dims, x.products)

    def view(self) -> None:
        """Some rows, or columns."""
        x = self.some(dense=True)
        k, rows = x.dims[0], x.dims[1] * x.dims[2]
        if self.tape.below(2):
            part, count, offset = k, (rows + 1) // 2, 4 * k * (rows // 2)
        else:
            part, count, offset = WIDTHS[0], rows, 4 * (k - WIDTHS[0])
        handle = api().view_2d(self.context, x.handle, part, count, 4 * k, offset)
        self.node(handle, (part, count, 1), x.products, is_dense=part == k, is_view=True)

    def reshape(self) -> None:
        x = self.some(dense=True)
        rows = x.dims[1] * x.dims[2]
        dims = (x.dims[0], rows // 2, 2) if rows % 2 == 0 and self.tape.below(2) else (x.dims[0], rows, 1)
        self.node(api().reshape_3d(self.context, x.handle, *dims), dims, x.products, is_view=True)

    def permute(self) -> None:
        x = self.some()
        handle = api().permute(self.context, x.handle, 0, 2, 1, 3)
        dims = (x.dims[0], x.dims[2], x.dims[1])
        self.node(handle, dims, x.products, is_dense=False, is_view=True)

    def get_rows(self) -> None:
        """Of weights, or of a value."""
        count = self.tape.pick(ROWS)
        if self.tape.below(2):
            tensor, w = self.some_weights(self.tape.pick(WIDTHS), experts=False)
            rows, width, products = w.shape[0], w.shape[1], 0
        else:
            x = self.some(dense=True)
            rows, width, products = x.dims[1] * x.dims[2], x.dims[0], x.products
            tensor = api().reshape_3d(self.context, x.handle, width, rows, 1)
        handle = api().get_rows(self.context, tensor, self.indices(I32, (count,), rows))
        self.node(handle, (width, count, 1), products)


class Graphs:
    def __init__(self) -> None:
        self.by: Counter[str] = Counter()
        self.repacked = {name for name in TYPES if ggml.repacks(REPACKED, FORMATS[name].number)}

    def make(self, rng: random.Random) -> bytes:
        return rng.randbytes(192)

    def take(self, data: bytes) -> None:
        program = Program(data, alone=False, repacked=self.repacked)
        got = program.run()
        want = Program(data, alone=True, repacked=self.repacked).run()
        assert len(got) == len(want)
        for index, (a, b) in enumerate(zip(got, want, strict=True)):
            if b.values.dtype != np.uint8 and not np.isfinite(b.values).all():
                continue  # ggml has sums of activations in f16, which overflow after some products
            if a.values.dtype == np.uint8 or not b.values.any():
                np.testing.assert_array_equal(a.values, b.values, f"result {index}")
            else:
                off = ggml.error(a.values, b.values)
                assert off < a.tolerance, f"result {index}: {off} after {a.products} products"
        self.by += program.by

    def summary(self) -> str:
        return f"nodes by device: {dict(self.by)}"
