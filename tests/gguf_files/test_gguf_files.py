# SPDX-License-Identifier: Apache-2.0
"""zemm.gguf.load(): metadata, and files that are damaged or not GGUF."""

import contextlib
import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import zemm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support_gguf import finish, float_rows, random_blocks

RNG = np.random.default_rng(0)


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with fields of every type and tensors of three types."""
    path = tmp_path_factory.mktemp("gguf") / "small.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_uint8("u8", 200)
    writer.add_int64("s64", -(2**40))
    writer.add_float32("f32", 0.5)
    writer.add_bool("yes", True)
    writer.add_string("text", "zwölf")
    writer.add_array("numbers", [1, 2, 3])
    writer.add_array("words", ["a", "", "ccc"])
    for name in ("F32", "Q8_0", "Q4_K"):
        rows = float_rows(name, (4, 256), RNG) if name == "F32" else random_blocks(name, (4, 256), RNG)
        writer.add_tensor(name.lower(), rows, raw_dtype=gguf.GGMLQuantizationType[name])
    finish(writer)
    return path


def test_mapping(path: Path) -> None:
    file = zemm.gguf.load(path)
    assert list(file) == ["f32", "q8_0", "q4_k"]
    assert len(file) == 3
    assert "q8_0" in file
    assert repr(file["q4_k"]) == "<zemm.gguf.Tensor 'q4_k' Q4_K (256, 4)>"
    with pytest.raises(KeyError, match=r"^no tensor 'absent': list\(file\) has all names$"):
        file["absent"]
    with pytest.raises(KeyError, match=r"^no tensor 'q8_1': did you mean 'q8_0'\?$"):
        file["q8_1"]
    with pytest.raises(KeyError, match="no tensor 3"):
        file[3]  # type: ignore[index]
    assert file.get("absent") is None


def test_metadata(path: Path) -> None:
    metadata = zemm.gguf.load(str(path)).metadata
    numbers = metadata.pop("numbers")
    np.testing.assert_array_equal(numbers, [1, 2, 3])
    want = {"u8": 200, "s64": -(2**40), "f32": 0.5, "yes": True, "text": "zwölf", "words": ["a", "", "ccc"]}
    assert metadata == {"general.architecture": "llama", **want}
    assert [type(metadata[name]) for name in want] == [int, int, float, bool, str, list]


def header(
    fields: bytes = b"", n_fields: int = 0, tensors: bytes = b"", n_tensors: int = 0, version: int = 3
) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, n_tensors, n_fields) + fields + tensors


def text(value: str) -> bytes:
    return struct.pack("<Q", len(value)) + value.encode()


def field(type_number: int, value: bytes, key: str = "key") -> bytes:
    return text(key) + struct.pack("<I", type_number) + value


def entry(dims: tuple[int, ...], type_number: int, offset: int = 0) -> bytes:
    return text("w") + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, type_number, offset)


STRING, ARRAY, UINT8, UINT32 = 8, 9, 0, 4
Q8_0, F32 = 8, 0
NESTED = b"".join(struct.pack("<IQ", ARRAY, 1) for _ in range(100))

DAMAGED = {
    "empty": (b"", "it is empty"),
    "text": (b"hello, this is no model", "begins with b'hell', not with b'GGUF'"),
    "only magic": (b"GGUF", "ends at byte 4, inside the version"),
    "version": (header(version=1), "version 1 .* reads versions 2 and 3"),
    "big-endian": (header(version=3 << 24), "big-endian"),
    "field count": (header(n_fields=2**63), f"{2**63} fields do not fit into"),
    "key": (header(struct.pack("<Q", 2**62) + bytes(50), 1), "inside the name of field 0"),
    "field type": (header(field(77, b""), 1), "field 'key' has the unknown type 77"),
    "string": (header(field(STRING, struct.pack("<Q", 2**64 - 1)), 1), "inside field 'key'"),
    "array": (header(field(ARRAY, struct.pack("<IQ", UINT8, 2**63)), 1), "inside field 'key'"),
    "nested": (header(field(ARRAY, NESTED), 1), "arrays in arrays"),
    "twice": (header(2 * field(UINT8, b"\1"), 2), "field 'key' twice"),
    "alignment": (
        header(field(UINT32, struct.pack("<I", 24), "general.alignment"), 1),
        "general.alignment is 24, no power of two",
    ),
    "no dims": (header(tensors=entry((), F32) + bytes(50), n_tensors=1), "'w' has 0 dimensions"),
    "zero": (header(tensors=entry((2**40, 0), F32), n_tensors=1), r"'w' has dims \(\d+, 0\)"),
    "huge": (header(tensors=entry((2**63, 2**63, 2**63), F32), n_tensors=1), "'w' of type F32 .* truncated"),
    "offset": (header(tensors=entry((1,), F32, 2**64 - 1), n_tensors=1), "'w' of type F32 .* truncated"),
    "blocks": (header(tensors=entry((48, 2), Q8_0), n_tensors=1), "'w' has K = 48 .* Q8_0 has blocks of 32"),
    "same names": (header(tensors=2 * entry((1,), F32), n_tensors=2) + bytes(100), "tensor 'w' twice"),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_damaged(case: str, tmp_path: Path) -> None:
    data, message = DAMAGED[case]
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=f"damaged.gguf' cannot be read: .*{message}"):
        zemm.gguf.load(path)


def test_absent_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        zemm.gguf.load(tmp_path / "absent.gguf")


def test_truncated(path: Path, tmp_path: Path) -> None:
    """Every file that ends too early is refused."""
    data, short = path.read_bytes(), tmp_path / "short.gguf"
    sizes = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType.Q4_K][1] * 4
    padding = -sizes % 32
    for end in (*range(0, 700, 7), len(data) - padding - 1):
        short.write_bytes(data[:end])
        with pytest.raises(ValueError, match="cannot be read"):
            zemm.gguf.load(short)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(st.tuples(st.integers(0, 699), st.integers(0, 255)), min_size=1, max_size=6))
def test_changed_bytes(path: Path, tmp_path: Path, changes: list[tuple[int, int]]) -> None:
    """A file with changed bytes is read or refused, and its tensors are, too."""
    data = bytearray(path.read_bytes())
    for place, value in changes:
        data[place] = value
    changed = tmp_path / "changed.gguf"
    changed.write_bytes(data)
    with contextlib.suppress(zemm.InvalidArgumentsError), np.errstate(all="ignore"):
        for tensor in zemm.gguf.load(changed).values():
            tensor.dequantize()
