# SPDX-License-Identifier: Apache-2.0
"""The backend for ggml reads blocks as zemm.gguf does."""

import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from support_gguf import SMALL_FLOATS, expected, random_blocks
from support_process import captured
from support_tree import ROOT
from zemm._library.lists import GGUF_BLOCKS
from zemm.gguf.formats import FORMATS, Format, Parts

# The backend's type of codes.
CODES = {name: row["codes"] for name, row in GGUF_BLOCKS.items() if row["codes"] != "data_type_undef"}
TYPES = list(CODES)
COUNT = 500  # blocks
Bytes = NDArray[np.uint8]


class Read(NamedTuple):
    """The output of the program for blocks [B, bytes].

    codes [B, elements]. scales, offsets [B, groups], f16 where blocks have such.
    """

    codes: NDArray[np.int16]
    scales: NDArray[Any]
    offsets: NDArray[Any] | None


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ggml") / "blocks"
    source, formats = ROOT / "tests" / "ggml" / "blocks.cpp", ROOT / "src" / "ggml" / "formats.cpp"
    folders = [f"-I{ROOT / 'src'}", f"-I{ROOT / 'include'}"]
    command = ["c++", "-std=c++20", "-O1", "-mavx2", "-Wall", "-Wextra"]
    done = captured([*command, *folders, source, formats, "-o", path])
    assert done.returncode == 0, done.stderr
    return path


def read(program: Path, name: str, blocks: Bytes) -> Read:
    form = FORMATS[name]
    done = subprocess.run(
        [program, str(form.number)], input=blocks.tobytes(), capture_output=True, timeout=60, check=True
    )
    parts = decoded(name, blocks)
    is_f16 = parts.scales.dtype == np.float16 and name not in SMALL_FLOATS
    float_type = np.dtype(np.float16 if is_f16 else np.float32)
    groups = form.elements // form.group * float_type.itemsize
    has_offsets = parts.minimums is not None
    sizes = [form.elements * int(CODES[name][1]) // 8, groups, groups * has_offsets]
    rows = np.frombuffer(done.stdout, np.uint8).reshape(len(blocks), sum(sizes))
    codes, scales, offsets = np.split(rows, np.cumsum(sizes)[:-1], axis=1)
    floats = [np.ascontiguousarray(part).view(float_type) for part in (scales, offsets)]
    return Read(unpacked(name, codes), floats[0], floats[1] if has_offsets else None)


def unpacked(name: str, codes: Bytes) -> NDArray[np.int16]:
    signed, bits = CODES[name].startswith("s"), int(CODES[name][1])
    if bits == 4:
        codes = np.stack([codes & 15, codes >> 4], -1).reshape(len(codes), -1)
        return np.where(signed & (codes > 7), codes.astype(np.int16) - 16, codes.astype(np.int16))
    return codes.view(np.int8 if signed else np.uint8).astype(np.int16)


def decoded(name: str, blocks: Bytes) -> Parts:
    decode = FORMATS[name].decode
    assert decode
    parts, less = decode(blocks.view(FORMATS[name].block)[:, 0]), FORMATS[name].less
    if parts.scale_factors is not None:  # the backend multiplies
        parts = Parts(parts.codes, parts.real_scales, parts.real_minimums)
    # The backend subtracts from codes what zemm.gguf leaves to minimums.
    return Parts(parts.codes.astype(np.int16) - less, parts.scales) if less else parts


def random(name: str, seed: int) -> Bytes:
    form = FORMATS[name]
    return random_blocks(name, (COUNT, form.elements), np.random.default_rng(seed))


def weights(form: Format, codes: NDArray[np.int16], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    return codes.astype(np.float32) * np.repeat(scales, form.group, axis=1)


def test_has_all_types(program: Path) -> None:
    known = [
        number
        for number in range(64)
        if subprocess.run([program, str(number)], stdin=subprocess.DEVNULL).returncode == 0
    ]
    assert known == sorted(FORMATS[name].number for name in TYPES)


@pytest.mark.parametrize("name", [name for name in TYPES if name not in SMALL_FLOATS])
def test_codes_scales_and_offsets(name: str, program: Path) -> None:
    blocks = random(name, 1)
    got, want = read(program, name, blocks), decoded(name, blocks)
    np.testing.assert_array_equal(got.codes, want.codes)
    same_bits(got.scales, want.scales)
    if got.offsets is not None and want.minimums is not None:
        same_bits(got.offsets, -want.minimums)


def same_bits(got: NDArray[Any], want: NDArray[Any]) -> None:
    assert got.dtype == want.dtype
    bits = f"u{got.itemsize}"
    np.testing.assert_array_equal(np.ascontiguousarray(got).view(bits), np.ascontiguousarray(want).view(bits))


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_small_floats(name: str, program: Path) -> None:
    """Codes are twice the values, scales half of the block's."""
    blocks = random(name, 2)
    got = read(program, name, blocks)
    assert set(np.unique(got.codes)) == {-12, -8, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 8, 12}
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(weights(FORMATS[name], got.codes, got.scales), expected(name, blocks))


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_all_scales_of_small_floats(name: str, program: Path) -> None:
    blocks = np.tile(random(name, 3)[:1], (256, 1))
    field, _ = SMALL_FLOATS[name]
    scales = blocks.view(FORMATS[name].block)[field]
    scales[...] = np.arange(256).reshape(256, *[1] * (scales.ndim - 1))
    got = read(program, name, blocks)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(weights(FORMATS[name], got.codes, got.scales), expected(name, blocks))


def test_all_f16_factors(program: Path) -> None:
    """The f16 of a block as f32, through a type that multiplies it by integers: here by 0 - 32."""
    blocks = np.zeros((1 << 16, 110), np.uint8)
    halves = np.arange(1 << 16, dtype=np.uint16)
    blocks[:, 108:] = halves[:, None].view(np.uint8)
    with np.errstate(invalid="ignore"):
        got = read(program, "Q3_K", blocks).scales[:, 0]
        want = halves.view(np.float16).astype(np.float32) * np.float32(-32)
    numbers = ~np.isnan(want)
    same_bits(got[numbers], want[numbers])
    assert np.isnan(got[~numbers]).all()
