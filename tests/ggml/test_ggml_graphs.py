# SPDX-License-Identifier: Apache-2.0
"""Graphs in which zemm's backend for ggml is one of two: results of products are read, weights are written by
others, or lie where zemm did not put them."""

import ctypes
import os
import re
import sys
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from support_ggml import (
    EXTRA_OF_TENSOR,
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
    device,
    error,
    get_bytes,
    in_buffer,
    product,
    product_of_experts,
    repackers,
    repacks,
    set_bytes,
    shared_backend,
)
from support_gguf import expected, usual_blocks
from support_process import captured
from support_tree import ROOT
from test_ggml_formats import TYPES
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
@pytest.mark.parametrize("n", [N, 512], ids=["small", "large"])
def test_weights_that_others_write(n: int, write: Write, usage: int) -> None:
    tensors, w = in_buffer("zemm", Q8_0, blocks_of("Q8_0", n, K), usage)
    x = floats(ROWS, K)
    for scale in (1, 2, 3):
        new = floats(n, K) * scale + scale
        write(w, new)
        assert error(product("zemm", w, x, n), x @ new.T) < TOLERANCE
    tensors.free()


@pytest.mark.parametrize("matrices", [1, 2])
@pytest.mark.parametrize("usage", [USAGE_ANY, USAGE_WEIGHTS])
def test_least_rows(graph: Graph, usage: int, matrices: int) -> None:
    """Each matrix is packed for its own rows."""
    tensors, w = in_buffer("zemm", Q8_0, blocks_of("Q8_0", matrices, N, K), usage)
    for rows, is_taken in ((95, False), (96, True)):
        node = api().mul_mat(graph.context, w, graph.tensors.new(F32, K, rows, matrices))
        assert api().backend_dev_supports_op(device("zemm"), node) == is_taken
    tensors.free()


@pytest.mark.parametrize(("tokens", "is_taken"), [(63, False), (64, True)])
def test_least_rows_of_experts(graph: Graph, tokens: int, is_taken: bool) -> None:
    """Two of four experts multiply each token: so many rows on average."""
    tensors, w = in_buffer("zemm", Q8_0, blocks_of("Q8_0", 4, N, K), USAGE_WEIGHTS)
    src, ids = graph.tensors.new(F32, K, 1, tokens), graph.tensors.new(I32, 2, tokens)
    node = api().mul_mat_id(graph.context, w, src, ids)
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


def in_each_place() -> list[tuple[str, str]]:
    """ggml's buffers on this CPU, and the types that it repacks there."""
    repacked = [(p, name) for p in repackers() for name in TYPES if repacks(p, FORMATS[name].number)]
    return [("CPU", name) for name in TYPES] + repacked


def test_weights_in_buffers_of_ggml() -> None:
    """Of all types, where ggml has them, repacked or not: zemm's product is that by the blocks."""
    places = in_each_place()
    assert [name for place, name in places if place != "CPU"], "this CPU's ggml repacks nothing"
    for place, name in places:
        blocks, x = blocks_of(name, N, K), floats(ROWS, K)
        tensors, w = in_buffer(place, FORMATS[name].number, blocks, USAGE_WEIGHTS)
        assert error(product("zemm", w, x, N), x @ matrix(name, blocks).T) < TOLERANCE, (place, name)
        tensors.free()


def test_repacked_experts() -> None:
    blocks = blocks_of("Q4_0", 3, N, K)
    ids = np.random.default_rng(3).integers(0, 3, (ROWS, 2)).astype(np.int32)
    plain, w = in_buffer("CPU", FORMATS["Q4_0"].number, blocks, USAGE_WEIGHTS)
    tensors, repacked = in_buffer("CPU_REPACK", FORMATS["Q4_0"].number, blocks, USAGE_WEIGHTS)
    x = floats(ROWS, 1, K)
    want = product_of_experts("CPU", w, x, ids, N)
    assert error(product_of_experts("zemm", repacked, x, ids, N), want) < TOLERANCE
    plain.free()
    tensors.free()


def test_weights_that_are_repacked_in_an_unknown_way(capfd: pytest.CaptureFixture[str]) -> None:
    tensors, w = in_buffer("CPU_REPACK", FORMATS["Q4_0"].number, blocks_of("Q4_0", N, K), USAGE_WEIGHTS)
    assert w
    ctypes.c_void_p.from_address(w + EXTRA_OF_TENSOR).value = 4096  # whose meaning ggml would know
    p = Product(w, floats(128, K))
    assert not api().backend_dev_supports_op(device("zemm"), p.node)
    assert p.status(shared_backend("zemm")) == FAILED
    log = capfd.readouterr().err
    assert "zemm: it does not know how CPU_REPACK has repacked q4_0: ggml multiplies by such weights" in log
    assert "zemm: zemm cannot read w" in log
    p.tensors.free()
    tensors.free()


def test_operation_that_zemm_does_not_compute(graph: Graph, capfd: pytest.CaptureFixture[str]) -> None:
    x = graph.tensors.new(F32, K)
    graph.add(api().add(graph.context, x, x))
    graph.tensors.allocate("CPU")
    assert graph.compute("zemm") == FAILED
    assert "zemm does not compute this ADD" in capfd.readouterr().err


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
