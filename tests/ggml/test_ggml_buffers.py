# SPDX-License-Identifier: Apache-2.0
"""Buffers of zemm's backend for ggml.

Tensors have the bytes that were set, also those that ggml's CPU device has repacked. Products are right after
each kind of change.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pytest
from support_ggml import (
    F32,
    TOLERANCE,
    USAGE_ANY,
    USAGE_WEIGHTS,
    Bytes,
    Floats,
    Handle,
    Tensors,
    api,
    buffer_name,
    error,
    get_bytes,
    in_buffer,
    product,
    product_of_experts,
    scheduled,
    set_bytes,
)
from support_gguf import random_blocks, usual_blocks
from test_ggml_formats import TYPES
from zemm.gguf.formats import FORMATS

E, N, K, ROWS = 3, 64, 512, 40
SHAPES = {"matrix": (N, K), "experts": (E, N, K)}
NAMES = {"matrix": "blk.0.ffn_up.weight", "experts": "blk.0.ffn_up_exps.weight"}  # as llama.cpp has them
USAGES = {"any": USAGE_ANY, "weights": USAGE_WEIGHTS}


class Place(NamedTuple):
    usage: int
    shape: tuple[int, ...]
    name: str


PLACES = {
    f"{kind}-{usage}": Place(USAGES[usage], SHAPES[kind], NAMES[kind]) for kind in SHAPES for usage in USAGES
}


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest) -> Place:
    return PLACES[request.param]


def products(device: str, w: Handle, shape: tuple[int, ...], src: Floats) -> Floats:
    if len(shape) == 2:
        return product(device, w, src, N)
    ids = np.random.default_rng(5).integers(0, E, (len(src), 2)).astype(np.int32)
    return product_of_experts(device, w, src[:, None], ids, N)


def check_products(type_name: str, w: Handle, shape: tuple[int, ...], blocks: Bytes) -> None:
    """zemm's products are those of ggml by the blocks."""
    src = np.random.default_rng(3).standard_normal((ROWS, K)).astype(np.float32)
    tensors, same = in_buffer("CPU", FORMATS[type_name].number, blocks, USAGE_ANY)
    want = products("CPU", same, shape, src)
    tensors.free()
    assert np.abs(want).max() > 0
    assert error(products("zemm", w, shape, src), want) < TOLERANCE


def made(type_name: str, place: Place, blocks: Bytes) -> tuple[Tensors, Handle]:
    return in_buffer("zemm", FORMATS[type_name].number, blocks, place.usage, place.name)


@pytest.mark.parametrize("type_name", TYPES)
def test_get_gives_what_was_set(type_name: str, place: Place) -> None:
    """All bits, also of codes and scales that a quantiser does not write."""
    rng = np.random.default_rng(1)
    blocks = random_blocks(type_name, place.shape, rng)
    tensors, w = made(type_name, place, blocks)
    flat = blocks.reshape(-1)
    np.testing.assert_array_equal(get_bytes(w), flat)
    for offset, size in [(0, 1), (17, 1001), (flat.size - 5, 5), (flat.size // 2, flat.size // 2)]:
        np.testing.assert_array_equal(get_bytes(w, offset, size), flat[offset : offset + size])
    tensors.free()


Change = Callable[
    [Handle, Handle, Bytes, Bytes], None
]  # of the buffer, the tensor, its bytes, and other ones


def again(_: Handle, w: Handle, flat: Bytes, other: Bytes) -> None:
    flat[:] = other
    set_bytes(w, other)


def in_parts(_: Handle, w: Handle, flat: Bytes, other: Bytes) -> None:
    flat[:] = other
    for part in range(0, flat.size, 10007):
        set_bytes(w, other[part : part + 10007], part)


def a_part(_: Handle, w: Handle, flat: Bytes, other: Bytes) -> None:
    part = slice(flat.size // 3 + 1, flat.size // 2)  # blocks are cut: their bytes are of both
    flat[part] = other[part]
    set_bytes(w, other[part], part.start)


def zeros_in_a_part(_: Handle, w: Handle, flat: Bytes, __: Bytes) -> None:
    part = slice(flat.size // 4 + 3, flat.size // 2)
    flat[part] = 0
    api().backend_tensor_memset(w, 0, part.start, part.stop - part.start)


def cleared_and_set(buffer: Handle, w: Handle, flat: Bytes, other: Bytes) -> None:
    api().backend_buffer_clear(buffer, 0)
    np.testing.assert_array_equal(get_bytes(w), 0)
    again(buffer, w, flat, other)


def a_copy(_: Handle, w: Handle, flat: Bytes, other: Bytes) -> None:
    """From a tensor of ggml's CPU device."""
    flat[:] = other
    kind, dims = _kind_and_dims(w)
    tensors = Tensors()
    from_ = tensors.new(kind, *dims)
    tensors.allocate("CPU")
    set_bytes(from_, other)
    api().backend_tensor_copy(from_, w)
    tensors.free()


def _kind_and_dims(w: Handle) -> tuple[int, list[int]]:
    import ctypes

    assert w
    return ctypes.c_int.from_address(w).value, list((ctypes.c_int64 * 4).from_address(w + 16))


CHANGES: list[Change] = [again, in_parts, a_part, zeros_in_a_part, cleared_and_set, a_copy]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("type_name", ["Q4_0", "Q8_0", "Q5_1", "Q4_K", "Q6_K", "MXFP4"])
def test_products_after_a_change(type_name: str, place: Place, change: Change) -> None:
    rng = np.random.default_rng(2)
    blocks, other = (usual_blocks(type_name, place.shape, rng) for _ in range(2))
    tensors, w = made(type_name, place, blocks)
    check_products(type_name, w, place.shape, blocks)
    now = blocks.copy()
    change(tensors.buffer, w, now.reshape(-1), other.reshape(-1))
    np.testing.assert_array_equal(get_bytes(w), now.reshape(-1))
    check_products(type_name, w, place.shape, now)
    tensors.free()


def test_repacked_tensors_are_tested() -> None:
    """ggml's CPU device repacks Q4_0 in buffers of weights, and nothing elsewhere; codes of f4 are never."""
    found = {}
    for type_name in ("Q4_0", "MXFP4"):
        blocks = usual_blocks(type_name, (N, K), np.random.default_rng(1))
        for usage in USAGES.values():
            tensors, w = in_buffer("zemm", FORMATS[type_name].number, blocks, usage)
            found[type_name, usage] = buffer_name(w)
            tensors.free()
    assert found.pop(("Q4_0", USAGE_WEIGHTS)) == "CPU_REPACK"
    assert set(found.values()) == {"zemm"}


@pytest.fixture
def mixed() -> Iterator[tuple[Tensors, list[Handle]]]:
    """A buffer of weights of Q4_0, Q5_0 (not repacked) and f32."""
    tensors = Tensors()
    kinds = [FORMATS["Q4_0"].number, FORMATS["Q5_0"].number, F32]
    handles = [tensors.new(kind, K, N, name=f"w{kind}") for kind in kinds]
    tensors.allocate("zemm", USAGE_WEIGHTS)
    yield tensors, handles
    tensors.free()


def test_clear_of_a_buffer_with_several_tensors(mixed: tuple[Tensors, list[Handle]]) -> None:
    tensors, handles = mixed
    rng = np.random.default_rng(4)
    values = [usual_blocks(name, (N, K), rng) for name in ("Q4_0", "Q5_0")]
    values.append(rng.standard_normal((N, K)).astype(np.float32).view(np.uint8))
    for w, value in zip(handles, values, strict=True):
        set_bytes(w, value)
        np.testing.assert_array_equal(get_bytes(w), value.reshape(-1))
    api().backend_buffer_clear(tensors.buffer, 0)
    for w in handles:
        np.testing.assert_array_equal(get_bytes(w), 0)
    src = rng.standard_normal((ROWS, K)).astype(np.float32)
    assert not product("zemm", handles[0], src, N).any()
    assert not product("zemm", handles[1], src, N).any()


@pytest.mark.parametrize("type_name", ["Q4_0", "Q8_0"])
def test_ggml_multiplies_what_was_changed(type_name: str) -> None:
    """Few rows of repacked weights are ggml's, from its own copy."""
    rng = np.random.default_rng(6)
    src = rng.standard_normal((2, K)).astype(np.float32)
    blocks, other = (usual_blocks(type_name, (N, K), rng) for _ in range(2))
    place = PLACES["matrix-weights"]
    tensors, w = made(type_name, place, blocks)
    now = blocks.copy()
    for change in (a_part, zeros_in_a_part, again):
        change(tensors.buffer, w, now.reshape(-1), other.reshape(-1))
        by, got = scheduled(w, src, N)
        assert by == "CPU"
        reference, same = in_buffer("CPU", FORMATS[type_name].number, now, USAGE_ANY)
        assert error(got, product("CPU", same, src, N)) < TOLERANCE
        reference.free()
    tensors.free()


@pytest.mark.parametrize("usage", USAGES.values(), ids=USAGES)
def test_views_of_tensors(usage: int) -> None:
    """They read and write the bytes of the tensor, also of a repacked one."""
    rng = np.random.default_rng(7)
    blocks, other = (usual_blocks("Q4_0", (N, K), rng) for _ in range(2))
    tensors, w = in_buffer("zemm", FORMATS["Q4_0"].number, blocks, usage)
    row = blocks[0].nbytes
    view = api().view_2d(tensors.context, w, K, 8, row, 16 * row)
    np.testing.assert_array_equal(get_bytes(view), blocks[16:24].reshape(-1))
    now = blocks.copy()
    now[16:24] = other[16:24]
    set_bytes(view, other[16:24])
    np.testing.assert_array_equal(get_bytes(w), now.reshape(-1))
    now[17] = 0
    api().backend_tensor_memset(view, 0, row, row)
    np.testing.assert_array_equal(get_bytes(view), now[16:24].reshape(-1))
    check_products("Q4_0", w, (N, K), now)
    tensors.free()


def test_view_that_is_set_first() -> None:
    """Bytes that are set through a view are not repacked. The tensor has them as they are."""
    blocks = usual_blocks("Q4_0", (N, K), np.random.default_rng(8))
    tensors = Tensors()
    w = tensors.new(FORMATS["Q4_0"].number, K, N)
    view = api().view_2d(tensors.context, w, K, N, blocks[0].nbytes, 0)
    tensors.allocate("zemm", USAGE_WEIGHTS)
    set_bytes(view, blocks)
    np.testing.assert_array_equal(get_bytes(w), blocks.reshape(-1))
    check_products("Q4_0", w, (N, K), blocks)
    check_products("Q4_0", view, (N, K), blocks)
    set_bytes(w, blocks)
    np.testing.assert_array_equal(get_bytes(view), blocks.reshape(-1))
    tensors.free()
