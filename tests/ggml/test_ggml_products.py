# SPDX-License-Identifier: Apache-2.0
"""Products by zemm's backend for ggml are those of ggml's CPU backend."""

import threading

import numpy as np
import pytest
from support_ggml import (
    FAILED,
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
    backend,
    error,
    get_bytes,
    in_buffer,
    product,
    product_of_experts,
    scheduled,
    set_bytes,
    shared_backend,
)
from support_gguf import usual_blocks
from test_ggml_formats import TYPES
from zemm.gguf.formats import FORMATS

N, K = 96, 512


def number(type_name: str) -> int:
    return FORMATS[type_name].number


def blocks_of(type_name: str, *shape: int) -> Bytes:
    return usual_blocks(type_name, shape, np.random.default_rng(1))


def floats(*shape: int) -> Floats:
    return np.random.default_rng(2).standard_normal(shape).astype(np.float32)


def expected(type_name: str, blocks: Bytes, src: Floats) -> Floats:
    tensors, w = in_buffer("CPU", number(type_name), blocks, USAGE_ANY)
    got = product("CPU", w, src, blocks.shape[-2])
    tensors.free()
    return got


@pytest.mark.parametrize("type_name", TYPES)
def test_rows(type_name: str) -> None:
    """The backend computes all numbers of rows; ggml asks it for 96 and more."""
    blocks = blocks_of(type_name, N, K)
    tensors, w = in_buffer("zemm", number(type_name), blocks, USAGE_WEIGHTS)
    for rows in (1, 95, 96, 97, 512):
        src = floats(rows, K)
        want = expected(type_name, blocks, src)
        assert error(product("zemm", w, src, N), want) < TOLERANCE
        by, got = scheduled(w, src, N)
        assert by == ("zemm" if rows >= 96 else "CPU")
        assert error(got, want) < TOLERANCE
    tensors.free()


@pytest.mark.parametrize("usage", [USAGE_ANY, USAGE_WEIGHTS])
@pytest.mark.parametrize(
    "shapes", [((2, N, K), (2, 40, K)), ((2, N, K), (6, 40, K)), ((3, 1, N, K), (3, 4, 5, K))]
)
def test_matrices(shapes: tuple[tuple[int, ...], tuple[int, ...]], usage: int) -> None:
    """Weights of several dimensions, which are broadcast over those of src."""
    blocks, src = blocks_of("Q4_K", *shapes[0]), floats(*shapes[1])
    tensors, w = in_buffer("zemm", number("Q4_K"), blocks, usage)
    assert error(product("zemm", w, src, N), expected("Q4_K", blocks, src)) < TOLERANCE
    tensors.free()


@pytest.mark.parametrize("type_name", ["Q4_0", "Q5_K", "MXFP4"])
@pytest.mark.parametrize(("tokens", "used", "of_src"), [(1, 1, 1), (7, 2, 1), (64, 2, 2), (40, 3, 1)])
def test_experts(type_name: str, tokens: int, used: int, of_src: int) -> None:
    """One expert of four has no rows."""
    blocks = blocks_of(type_name, 4, N, K)
    src = floats(tokens, of_src, K)
    ids = np.random.default_rng(3).choice([0, 2, 3], (tokens, used)).astype(np.int32)
    found = []
    for where, usage in (("CPU", USAGE_ANY), ("zemm", USAGE_WEIGHTS), ("zemm", USAGE_ANY)):
        tensors, w = in_buffer(where, number(type_name), blocks, usage, "ffn_up_exps")
        found.append(product_of_experts(where, w, src, ids, N))
        tensors.free()
    assert all(error(got, found[0]) < TOLERANCE for got in found[1:])


@pytest.mark.parametrize("index", [4, -1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("usage", [USAGE_ANY, USAGE_WEIGHTS])
def test_expert_that_is_none(index: int, usage: int, capfd: pytest.CaptureFixture[str]) -> None:
    tensors, w = in_buffer("zemm", number("Q4_K"), blocks_of("Q4_K", 4, N, K), usage, "ffn_up_exps")
    ids = np.array([[0, 1], [index, 2]], np.int32)
    p = Product(w, floats(2, 1, K), ids)
    assert p.status(shared_backend("zemm")) == FAILED
    assert f"zemm: expert {index} is not one of 4" in capfd.readouterr().err
    p.tensors.free()
    # The next product is right.
    ids[1, 0] = 3
    assert np.isfinite(product_of_experts("zemm", w, floats(2, 1, K), ids, N)).all()
    tensors.free()


@pytest.mark.parametrize("usage", [USAGE_ANY, USAGE_WEIGHTS])
def test_views_of_weights(usage: int) -> None:
    """Rows of a matrix, and a matrix of several."""
    blocks = blocks_of("Q6_K", 3, N, K)
    tensors, w = in_buffer("zemm", number("Q6_K"), blocks, usage)
    row, matrix = blocks[0, 0].nbytes, blocks[0].nbytes
    src = floats(128, K)
    some_rows = api().view_2d(tensors.context, w, K, 32, row, 8 * row)
    last = api().view_2d(tensors.context, w, K, N, row, 2 * matrix)
    for view, of in ((some_rows, blocks[0, 8:40]), (last, blocks[2])):
        assert api().backend_dev_supports_op(_device(), Product(view, src).node)
        assert error(product("zemm", view, src, len(of)), expected("Q6_K", of, src)) < TOLERANCE
    tensors.free()


@pytest.mark.parametrize("type_name", ["Q4_0", "Q4_1", "Q6_K"])
def test_weights_that_are_packed_in_parts(type_name: str) -> None:
    """So many elements that N is cut, and the last part is smaller. All parts multiply the same src."""
    n, k = 1000, 8192
    blocks, src = blocks_of(type_name, n, k), floats(33, k)
    tensors, w = in_buffer("zemm", number(type_name), blocks, USAGE_WEIGHTS)
    assert error(product("zemm", w, src, n), expected(type_name, blocks, src)) < TOLERANCE
    tensors.free()


def _device() -> Handle:
    return api().backend_dev_by_name(b"zemm")


def test_refused_views() -> None:
    """Columns of a matrix, whose blocks do not follow each other, and permuted weights."""
    blocks = blocks_of("Q4_0", 2, N, K)
    tensors, w = in_buffer("zemm", number("Q4_0"), blocks, USAGE_ANY)
    row, matrix = blocks[0, 0].nbytes, blocks[0].nbytes
    columns = api().view_4d(tensors.context, w, K // 2, N, 1, 1, row, matrix, 2 * matrix, 0)
    permuted = api().permute(tensors.context, w, 0, 2, 1, 3)
    for view, src in ((columns, floats(40, K // 2)), (permuted, floats(N, 40, K))):
        p = Product(view, src)
        assert not api().backend_dev_supports_op(_device(), p.node)
        p.tensors.free()
    tensors.free()


def test_views_of_src() -> None:
    """Rows with a stride, and permuted ones."""
    blocks = blocks_of("Q4_K", N, K)
    tensors, w = in_buffer("zemm", number("Q4_K"), blocks, USAGE_WEIGHTS)
    wide = floats(3, 48, 2 * K)
    inputs = Tensors()
    src = inputs.new(0, 2 * K, 48, 3)
    part = api().view_4d(inputs.context, src, K, 48, 3, 1, 8 * K, 8 * K * 48, 8 * K * 144, 4 * K)
    turned = api().permute(inputs.context, part, 0, 2, 1, 3)
    inputs.allocate("CPU")
    set_bytes(src, wide)
    for view, values in ((part, wide[..., K:]), (turned, wide[..., K:].swapaxes(0, 1))):
        got = _compute(w, view, values.shape[:-1])
        assert error(got, expected("Q4_K", blocks, np.ascontiguousarray(values))) < TOLERANCE
    tensors.free()
    inputs.free()


def _compute(w: Handle, src: Handle, rows: tuple[int, ...]) -> Floats:
    p = Product.__new__(Product)
    p.tensors, p.inputs = Tensors(), []
    p.node = api().mul_mat(p.tensors.context, w, src)
    p.graph = api().new_graph(p.tensors.context)
    api().build_forward_expand(p.graph, p.node)
    assert api().backend_dev_supports_op(_device(), p.node)
    assert p.status(shared_backend("zemm")) == SUCCESS
    return p.result(N, rows)


@pytest.mark.parametrize(("n", "rows"), [(0, 40), (N, 0), (0, 0)])
def test_empty(n: int, rows: int) -> None:
    tensors = Tensors()
    w = tensors.new(number("Q4_0"), K, n)
    other = tensors.new(number("Q4_0"), K, N)  # so that there is a buffer
    tensors.allocate("zemm", USAGE_WEIGHTS)
    set_bytes(other, blocks_of("Q4_0", N, K))
    set_bytes(w, blocks_of("Q4_0", n, K))
    p = Product(w, floats(rows, K))
    api().backend_dev_supports_op(_device(), p.node)
    assert p.status(shared_backend("zemm")) == SUCCESS
    p.tensors.free()
    tensors.free()


def test_two_backends_in_two_threads() -> None:
    """They share weights, which each of them would pack at its first product."""
    blocks, src = blocks_of("Q4_0", N, K), floats(64, K)
    want = expected("Q4_0", blocks, src)
    tensors, w = in_buffer("zemm", number("Q4_0"), blocks, USAGE_ANY)
    errors: list[float] = []

    def work() -> None:
        own = backend("zemm")
        errors.extend(error(product("zemm", w, src, N, own), want) for _ in range(50))
        api().backend_free(own)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(errors) == 100
    assert max(errors) < TOLERANCE
    tensors.free()


_SHARING = ["Q4_0", "Q8_0", "Q4_K", "Q4_0", "Q6_K", "Q4_K", "Q2_K"]


def test_products_of_one_src() -> None:
    """They share its quantised values where their groups are alike: of 32, of 32 with sums, of 16."""
    src = floats(64, K)
    made = [in_buffer("zemm", number(name), blocks_of(name, N, K), USAGE_WEIGHTS) for name in _SHARING]
    p = Product(made[0][1], src)
    nodes = [p.node] + [api().mul_mat(p.tensors.context, w, p.src) for _, w in made[1:]]
    for node in nodes:
        api().build_forward_expand(p.graph, node)
    assert p.status(shared_backend("zemm")) == SUCCESS
    for node, name in zip(nodes, _SHARING, strict=True):
        got = get_bytes(node).view(np.float32).reshape(64, N)
        assert error(got, expected(name, blocks_of(name, N, K), src)) < TOLERANCE, name
    p.tensors.free()
    for tensors, _ in made:
        tensors.free()


def test_products_of_one_src_by_matrices_and_by_one() -> None:
    """The first node multiplies each matrix of src by its own weights, the second all rows by the same."""
    several, one, src = blocks_of("Q4_0", 3, N, K), blocks_of("Q4_0", N, K), floats(3, 40, K)
    made = [in_buffer("zemm", number("Q4_0"), blocks, USAGE_WEIGHTS) for blocks in (several, one)]
    p = Product(made[0][1], src)
    second = api().mul_mat(p.tensors.context, made[1][1], p.src)
    for node in (p.node, second):
        api().build_forward_expand(p.graph, node)
    assert p.status(shared_backend("zemm")) == SUCCESS
    for node, blocks in ((p.node, several), (second, one)):
        got = get_bytes(node).view(np.float32).reshape(3, 40, N)
        assert error(got, expected("Q4_0", blocks, src)) < TOLERANCE
    p.tensors.free()
    for tensors, _ in made:
        tensors.free()
