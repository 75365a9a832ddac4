# SPDX-License-Identifier: Apache-2.0
"""Graphs in which zemm's backend for ggml is one of two: results of products are read, weights are written by
others, or lie where zemm did not put them."""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from support_ggml import (
    F32,
    FAILED,
    I32,
    SUCCESS,
    TOLERANCE,
    USAGE_ANY,
    USAGE_WEIGHTS,
    Bytes,
    Floats,
    Handle,
    Product,
    Tensors,
    api,
    buffer_name,
    device,
    error,
    get_bytes,
    in_buffer,
    product,
    set_bytes,
    shared_backend,
)
from support_gguf import expected, usual_blocks
from support_process import captured
from support_tree import ROOT
from zemm.gguf.formats import FORMATS

Q8_0 = FORMATS["Q8_0"].number
N, K, ROWS = 64, 256, 40


def floats(*shape: int) -> Floats:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def blocks_of(type_name: str, *shape: int, seed: int = 1) -> Bytes:
    return usual_blocks(type_name, shape, np.random.default_rng(seed))


def matrix(type_name: str, blocks: Bytes) -> Floats:
    return expected(type_name, blocks)


class Graph:
    """Tensors and nodes of a graph."""

    def __init__(self) -> None:
        self.tensors = Tensors()
        self.context = self.tensors.context
        self.graph = api().new_graph(self.context)

    def add(self, *nodes: Handle) -> None:
        for node in nodes:
            api().build_forward_expand(self.graph, node)

    def compute(self, name: str) -> int:
        return api().backend_graph_compute(shared_backend(name), self.graph)


@pytest.fixture
def graph() -> Iterator[Graph]:
    made = Graph()
    yield made
    made.tensors.free()


@pytest.fixture
def scheduler() -> Iterator[Handle]:
    backends = (ctypes.c_void_p * 2)(shared_backend("zemm"), shared_backend("CPU"))
    made = api().backend_sched_new(ctypes.addressof(backends), None, 2, 2048, False, False)
    yield made
    api().backend_sched_free(made)


def values(tensor: Handle, *shape: int) -> Floats:
    return get_bytes(tensor).view(np.float32).reshape(shape)


def test_experts_multiply_the_result_of_a_product(graph: Graph) -> None:
    k, n, tokens = 1024, 512, 256
    first, experts = blocks_of("Q8_0", n, k), blocks_of("Q8_0", 2, N, n)
    x, ids = floats(tokens, k), np.arange(tokens, dtype=np.int32)[:, None] % 2
    one, w = in_buffer("zemm", Q8_0, first, USAGE_WEIGHTS)
    other, of_experts = in_buffer("zemm", Q8_0, experts, USAGE_WEIGHTS, "ffn_up_exps")
    src = graph.tensors.new(F32, k, tokens)
    chosen = graph.tensors.new(I32, 1, tokens)
    between = api().mul_mat(graph.context, w, src)
    rows = api().reshape_3d(graph.context, between, n, 1, tokens)
    result = api().mul_mat_id(graph.context, of_experts, rows, chosen)
    graph.add(result)
    graph.tensors.allocate("CPU")
    set_bytes(src, x)
    set_bytes(chosen, ids)
    y = x @ matrix("Q8_0", first).T
    matrices = matrix("Q8_0", experts.reshape(2 * N, -1)).reshape(2, N, n)
    want = np.einsum("tn,tmn->tm", y, matrices[ids[:, 0]])
    for _ in range(3):
        set_bytes(between, np.zeros((tokens, n), np.float32))
        assert graph.compute("zemm") == SUCCESS
        assert error(values(result, tokens, N), want) < 2 * TOLERANCE
    one.free()
    other.free()


def test_product_of_what_a_product_wrote_over(graph: Graph) -> None:
    """The second node has the first one's src, which is also where the first one's result lies."""
    blocks = [blocks_of("Q8_0", K, K, seed=seed) for seed in (1, 2)]
    made = [in_buffer("zemm", Q8_0, b, USAGE_WEIGHTS) for b in blocks]
    src = graph.tensors.new(F32, K, ROWS)
    graph.tensors.allocate("CPU")
    first, second = (api().mul_mat(graph.context, w, src) for _, w in made)
    graph.add(first, second)
    assert api().backend_tensor_alloc(graph.tensors.buffer, first, api().get_data(src)) == SUCCESS
    last = Tensors()
    room = last.new(F32, K, ROWS)
    last.allocate("CPU")
    assert api().backend_tensor_alloc(last.buffer, second, api().get_data(room)) == SUCCESS
    set_bytes(src, floats(ROWS, K))
    assert graph.compute("zemm") == SUCCESS
    want = floats(ROWS, K) @ matrix("Q8_0", blocks[0]).T @ matrix("Q8_0", blocks[1]).T
    assert error(values(second, ROWS, K), want) < 2 * TOLERANCE
    last.free()
    for tensors, _ in made:
        tensors.free()


def test_product_after_an_empty_one(graph: Graph) -> None:
    """The empty one quantises nothing of the src that both have."""
    tensors = Tensors()
    empty, w = tensors.new(Q8_0, K, 0), tensors.new(Q8_0, K, N)
    tensors.allocate("zemm", USAGE_WEIGHTS)
    set_bytes(w, blocks_of("Q8_0", N, K))
    product("zemm", w, floats(ROWS, K) + 1, N)  # whose src was quantised last
    src = graph.tensors.new(F32, K, ROWS)
    nodes = [api().mul_mat(graph.context, one, src) for one in (empty, w)]
    graph.add(*nodes)
    graph.tensors.allocate("CPU")
    set_bytes(src, floats(ROWS, K))
    assert graph.compute("zemm") == SUCCESS
    want = floats(ROWS, K) @ matrix("Q8_0", blocks_of("Q8_0", N, K)).T
    assert error(values(nodes[1], ROWS, N), want) < TOLERANCE
    tensors.free()


Write = Callable[[Handle, Floats], None]


def by_ggml(w: Handle, new: Floats) -> None:
    """ggml's CPU backend copies floats into the tensor, alone."""
    inputs, graph = Tensors(), Graph()
    src = inputs.new(F32, *reversed(new.shape))
    inputs.allocate("CPU")
    set_bytes(src, new)
    graph.add(api().cpy(graph.context, src, w))
    assert graph.compute("CPU") == SUCCESS
    inputs.free()
    graph.tensors.free()


def as_host_memory(w: Handle, new: Floats) -> None:
    """The program writes to where the data is."""
    from gguf.quants import GGMLQuantizationType, quantize

    data = np.ascontiguousarray(quantize(new, GGMLQuantizationType.Q8_0))
    ctypes.memmove(api().get_data(w), data.ctypes.data, data.nbytes)


@pytest.mark.parametrize("usage", [USAGE_ANY, USAGE_WEIGHTS])
@pytest.mark.parametrize("write", [by_ggml, as_host_memory])
@pytest.mark.parametrize("n", [N, 512], ids=["small", "large"])  # all bytes are compared, or rows' first ones
def test_weights_that_others_write(n: int, write: Write, usage: int) -> None:
    tensors, w = in_buffer("zemm", Q8_0, blocks_of("Q8_0", n, K), usage)
    x = floats(ROWS, K)
    for scale in (1, 2, 3):
        new = floats(n, K) * scale + scale
        write(w, new)
        assert error(product("zemm", w, x, n), x @ new.T) < TOLERANCE
    tensors.free()


@pytest.mark.parametrize("matrices", [1, 2])
@pytest.mark.parametrize(("usage", "least"), [(USAGE_WEIGHTS, 32), (USAGE_ANY, 128)])
def test_least_rows(graph: Graph, usage: int, least: int, matrices: int) -> None:
    """More of weights that are packed at each product: so many for each matrix."""
    tensors, w = in_buffer("zemm", Q8_0, blocks_of("Q8_0", matrices, N, K), usage)
    least *= matrices if usage == USAGE_ANY else 1
    for rows, is_taken in ((least - matrices, False), (least, True)):
        src = graph.tensors.new(F32, K, rows // matrices, matrices)
        node = api().mul_mat(graph.context, w, src)
        assert api().backend_dev_supports_op(device("zemm"), node) == is_taken
    tensors.free()


@pytest.mark.parametrize("between", [False, True])
def test_weights_made_in_the_graph(graph: Graph, scheduler: Handle, between: bool) -> None:
    """They have no buffer when ggml's scheduler asks who multiplies by them."""
    src, w = graph.tensors.new(F32, K, N), graph.tensors.new(Q8_0, K, N)
    x, z = graph.tensors.new(F32, K, ROWS), graph.tensors.new(F32, K)
    node = api().mul_mat(graph.context, api().cpy(graph.context, src, w), x)
    graph.add(node)
    inputs = {src: floats(N, K), x: floats(ROWS, K)}
    if between:
        graph.add(api().add(graph.context, z, z))
        inputs[z] = floats(K)
    for tensor in (*inputs, w):
        api().set_input(tensor)
    assert api().backend_sched_alloc_graph(scheduler, graph.graph)
    for tensor, contents in inputs.items():
        set_bytes(tensor, contents)
    assert api().backend_sched_graph_compute(scheduler, graph.graph) == SUCCESS
    assert error(values(node, ROWS, N), floats(ROWS, K) @ floats(N, K).T) < TOLERANCE


def test_weights_in_a_buffer_of_ggml() -> None:
    """A program that asks zemm all the same gets the right product."""
    tensors, w = in_buffer("CPU", Q8_0, blocks_of("Q8_0", N, K), USAGE_WEIGHTS)
    x = floats(ROWS, K)
    assert error(product("zemm", w, x, N), x @ matrix("Q8_0", blocks_of("Q8_0", N, K)).T) < TOLERANCE
    tensors.free()


def test_weights_in_a_buffer_that_is_not_host_memory(capfd: pytest.CaptureFixture[str]) -> None:
    """ggml's own repacked weights: zemm cannot read them."""
    registry = api().backend_dev_backend_reg(device("CPU"))
    list_types = api().backend_reg_get_proc_address(registry, b"ggml_backend_dev_get_extra_bufts")
    kinds = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p)(list_types)(device("CPU"))
    tensors = Tensors()
    w = tensors.new(FORMATS["Q4_0"].number, K, N)
    count = next(i for i in range(100) if not kinds[i])
    tensors.buffer = api().backend_alloc_ctx_tensors_from_buft(tensors.context, kinds[count - 1])
    assert buffer_name(w) == "CPU_REPACK"
    set_bytes(w, blocks_of("Q4_0", N, K))
    p = Product(w, floats(ROWS, K))
    assert not api().backend_dev_supports_op(device("zemm"), p.node)
    assert p.status(shared_backend("zemm")) == FAILED
    assert "zemm: w is in a buffer of CPU_REPACK, which zemm cannot read" in capfd.readouterr().err
    p.tensors.free()
    tensors.free()


def test_operation_that_zemm_does_not_compute(graph: Graph, capfd: pytest.CaptureFixture[str]) -> None:
    x = graph.tensors.new(F32, K)
    graph.add(api().add(graph.context, x, x))
    graph.tensors.allocate("CPU")
    assert graph.compute("zemm") == FAILED
    assert "zemm does not compute this ADD" in capfd.readouterr().err


def rows_of_weights(graph: Graph, w: Handle) -> tuple[Handle, Any]:
    ids = graph.tensors.new(I32, 3)
    api().set_input(ids)
    node = api().get_rows(graph.context, w, ids)
    return node, (lambda: set_bytes(ids, np.array([5, 0, 7], np.int32)))


def product_by_a_view(graph: Graph, w: Handle) -> tuple[Handle, Any]:
    row = api().row_size(FORMATS["Q4_0"].number, K)
    x = graph.tensors.new(F32, K, ROWS)
    api().set_input(x)
    node = api().mul_mat(graph.context, api().view_2d(graph.context, w, K, 8, row, 8 * row), x)
    return node, (lambda: set_bytes(x, floats(ROWS, K)))


def written_weights(graph: Graph, w: Handle) -> tuple[Handle, Any]:
    src = graph.tensors.new(F32, K, N)
    x = graph.tensors.new(F32, K, ROWS)
    for tensor in (src, x):
        api().set_input(tensor)
    node = api().mul_mat(graph.context, api().cpy(graph.context, src, w), x)
    return node, (lambda: (set_bytes(src, floats(N, K)), set_bytes(x, floats(ROWS, K))))


@pytest.mark.parametrize("use", [rows_of_weights, product_by_a_view, written_weights])
def test_repacked_weights_that_a_graph_uses_otherwise(
    graph: Graph, scheduler: Handle, use: Callable[[Graph, Handle], tuple[Handle, Any]]
) -> None:
    """ggml's CPU device cannot, so they get ggml's bytes back, and keep them when they are set again."""
    blocks = blocks_of("Q4_0", N, K)
    tensors, w = in_buffer("zemm", FORMATS["Q4_0"].number, blocks, USAGE_WEIGHTS)
    assert buffer_name(w) == "CPU_REPACK"
    node, fill = use(graph, w)
    api().set_output(node)
    graph.add(node)
    assert api().backend_sched_alloc_graph(scheduler, graph.graph)
    assert buffer_name(w) == "zemm"
    np.testing.assert_array_equal(get_bytes(w), blocks.reshape(-1))
    reference, same = in_buffer("CPU", FORMATS["Q4_0"].number, blocks, USAGE_ANY)
    alone = Graph()
    want, fill_alone = use(alone, same)
    alone.add(want)
    alone.tensors.allocate("CPU")
    fill_alone()
    assert alone.compute("CPU") == SUCCESS
    for _ in range(2):
        fill()
        assert api().backend_sched_graph_compute(scheduler, graph.graph) == SUCCESS
        assert error(values(node, -1), values(want, -1)) < TOLERANCE
        set_bytes(w, blocks)
        assert buffer_name(w) == "zemm"
    alone.tensors.free()
    reference.free()
    tensors.free()


def test_random_graphs() -> None:
    """A few of what `python tests/fuzz/fuzz.py graphs` makes, always the same, in a process that may end."""
    code = """
import random
from fuzz_graphs import Graphs
graphs = Graphs()
for seed in range(15):
    print(seed, flush=True)
    graphs.take(graphs.make(random.Random(seed)))
print(graphs.summary())
"""
    path = os.pathsep.join([os.environ["PYTHONPATH"], str(ROOT / "tests" / "fuzz")])
    env = {**os.environ, "PYTHONPATH": path}
    done = captured([sys.executable, "-c", code], env=env, timeout=400)
    assert done.returncode == 0, done.stdout + done.stderr[-3000:]
    assert int(re.findall(r"'zemm': (\d+)", done.stdout)[0]) > 10, done.stdout
