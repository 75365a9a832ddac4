# SPDX-License-Identifier: Apache-2.0
"""Reorders that pack weights, by the kernels for weights and by the general one."""

import itertools

import pytest
import zemm
from support_layout import PER_BYTE, Buffer, Layout
from test_reorder import run

UNIT = dict.fromkeys(("s8", "u8", "s4", "u4", "u2", "f8_e4m3", "f4_e2m1"), 4)
UNIT |= dict.fromkeys(("f32", "f16", "bf16"), 1)


def packed_tag(batch: int, data_type: str, columns: int = 64) -> str:
    k, n = "abcd"[batch], "abcd"[batch + 1]
    unit = f"4{k}" if UNIT[data_type] == 4 else ""
    if data_type == "u2":  # four columns share the bytes of a unit
        columns, unit = columns // 4, f"{unit}4{n}"
    return f"{'abcd'[:batch]}{n}{k}".replace(n, n.upper()).replace(k, k.upper()) + f"16{k}{columns}{n}{unit}"


@pytest.mark.each_value
@pytest.mark.each_value
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)], ids=["2d", "3d", "4d"])
@pytest.mark.parametrize("plain", ["kn", "nk"])
@pytest.mark.parametrize("data_type", UNIT)
def test_packing(engine: zemm.Engine, data_type: str, plain: str, batch: tuple[int, ...]) -> None:
    """The kernel for weights and the general kernel, around the sizes of a block."""
    block = 16 * UNIT[data_type]
    sizes = [1, 2, 4, block - 1, block, block + 1, 3 * block + 4]
    names = []
    for k, n in itertools.product(sizes, [1, 2, 16, 63, 64, 65, 130]):
        dims = (*batch, k, n)
        inner = n if plain == "kn" else k
        pitch = inner + (-inner % 4 if plain == "nk" or data_type in PER_BYTE else 0)
        strides = [0] * len(batch) + ([pitch, 1] if plain == "kn" else [1, pitch])
        span = pitch * (k if plain == "kn" else n)
        for d in reversed(range(len(batch))):
            strides[d] = span
            span *= batch[d]
        src = Buffer(Layout(dims, data_type, strides=tuple(strides)), engine, 1)
        values = src.elements()[src.layout.places()]
        names = []
        for implementation in (0, 1):
            dst = Buffer(Layout(dims, data_type, packed_tag(len(batch), data_type)), engine, 2)
            want = dst.with_tensor(values)
            try:
                names.append(run(engine, src, dst, implementation=implementation))
            except AssertionError:
                assert implementation == 1  # sizes of 1 leave no choice of kernel
                break
            dst.check(want)
    assert names == ["reorder_pack", "reorder"]


@pytest.mark.each_value
@pytest.mark.parametrize("plain", ["kn", "nk", "neither"])
@pytest.mark.parametrize("data_type", UNIT)
def test_packing_in_lanes(
    engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, data_type: str, plain: str
) -> None:
    """The kernel for GPUs: columns with and without whole units, any strides, incomplete blocks."""
    monkeypatch.setenv("ZEMM_KERNEL", "reorder_pack_lanes")
    block = 16 * UNIT[data_type]
    step = PER_BYTE.get(data_type, 1)  # rows and elements begin at whole bytes
    for k, n, gap in itertools.product((2, block, 3 * block + 2), (2, 64, 130), (0, step)):
        along, across = (n, k) if plain == "kn" else (k, n)
        unit = 3 * max(step, 2) if plain == "neither" else 1
        pitch = unit * (along + -along % (4 * step) + gap)
        matrix = (pitch, unit) if plain == "kn" else (unit, pitch)
        strides = (pitch * across + 2 * gap, *matrix)
        src = Buffer(Layout((2, k, n), data_type, strides=strides), engine, 1)
        dst = Buffer(Layout((2, k, n), data_type, packed_tag(1, data_type)), engine, 2)
        want = dst.with_tensor(src.elements()[src.layout.places()])
        assert run(engine, src, dst) == "reorder_pack_lanes"
        dst.check(want)


@pytest.mark.parametrize("columns", [16, 32, 48])
def test_packing_narrow_blocks(engine: zemm.Engine, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    src = Buffer(Layout((200, 77), "s8", "ba"), engine, 1)
    dst = Buffer(Layout((200, 77), "s8", packed_tag(0, "s8", columns)), engine, 2)
    want = dst.with_tensor(src.elements()[src.layout.places()])
    for name in ("reorder_pack", "reorder_pack_lanes"):
        monkeypatch.setenv("ZEMM_KERNEL", name)
        assert run(engine, src, dst) == name
        dst.check(want)
