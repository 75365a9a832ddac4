# SPDX-License-Identifier: Apache-2.0
"""zemm.words and what is made of it: the library's names, data types in any spelling, and what mypy
refuses."""

import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest
import zemm
from support_tree import ROOT
from zemm import dtypes, words
from zemm._library import library, lists
from zemm._objects import post_op_names

OTHER_PROP_KINDS = {
    "undef", "forward", "backward", "backward_data", "backward_weights", "backward_bias",
}  # fmt: skip


@pytest.mark.parametrize(
    ("literal", "enum", "left_out"),
    [
        (words.EngineKind, "engine_kind", {"any"}),
        (words.FpmathMode, "fpmath_mode", set()),
        (words.AccumulationMode, "accumulation_mode", set()),
        (words.ScratchpadMode, "scratchpad_mode", set()),
        (words.RoundingMode, "rounding_mode", set()),
        (words.QuantizationMode, "quantization_mode", {"undef"}),
        (words.ForwardKind, "prop_kind", OTHER_PROP_KINDS),
        (words.Peak, "peak", set()),
    ],
)
def test_words_are_the_library_s(literal: Any, enum: str, left_out: set[str]) -> None:
    assert len(set(get_args(literal))) == len(get_args(literal))
    assert set(get_args(literal)) == set(library.names_of(enum)) - left_out


def test_types_are_those_of_the_list() -> None:
    assert set(get_args(words.DataType)) == set(lists.TYPES)
    assert set(get_args(words.NumpyName)) == {dtypes.numpy_dtype(name).name for name in lists.TYPES}
    small = {*dtypes.SUB_BYTE, *(dtypes.numpy_dtype(name).name for name in dtypes.SUB_BYTE)}
    assert set(get_args(words.SubByteType)) == small - {"uint8"}  # for u3, which numpy does not have


def test_post_ops_are_those_of_the_list() -> None:
    known = {name for name in post_op_names._FULL_NAMES if not name.endswith("_use_dst_for_bwd")}
    typed = {*get_args(words.EltwiseName), *get_args(words.BinaryName)}
    assert typed == known - {"sum", "prelu"}
    for literal, kind in ((words.EltwiseName, "eltwise"), (words.BinaryName, "binary")):
        assert {post_op_names.full_name(name).split("_")[0] for name in get_args(literal)} == {kind}


def test_queries_are_answered(engine: zemm.Engine) -> None:
    md = zemm.MemoryDesc((4, 4), "f32")
    pd = zemm.MatmulPrimitiveDesc(engine, md, md, md)
    for what in get_args(words.MdQuery):
        assert isinstance(pd.query_md(what), zemm.MemoryDesc)
    for what in get_args(words.IntQuery):
        assert pd.query_s64(what) >= 0


class TorchDtype:
    """Looks like a data type of torch, which need not be installed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"


TorchDtype.__module__ = "torch"


@pytest.mark.parametrize("name", get_args(words.DataType))
def test_every_spelling(name: words.DataType) -> None:
    dtype = zemm.numpy_dtype(name)
    spellings = [name, dtype.name, dtype, dtype.type, dtype.newbyteorder(">"), f"torch.{dtype.name}"]
    if name == "u3":  # numpy has no type of 3 bits
        del spellings[1:]
    for spelling in (*spellings, TorchDtype(dtype.name if name != "u3" else name)):
        assert zemm.dtype_name(spelling) == name
        assert zemm.numpy_dtype(spelling) == dtype
        assert zemm.MemoryDesc((2, 8), spelling) == zemm.MemoryDesc((2, 8), name)


def test_spellings_of_torch() -> None:
    torch = pytest.importorskip("torch")
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16"), (torch.half, "f16")):
        assert zemm.dtype_name(dtype) == name
    for dtype, name in ((torch.float8_e4m3fn, "f8_e4m3"), (torch.int8, "s8"), (torch.uint8, "u8")):
        assert zemm.MemoryDesc((2,), dtype).data_type == name
    with pytest.raises(ValueError, match=r"data_type is a dtype.*bf16 \(bfloat16\)"):
        zemm.MemoryDesc((2,), torch.complex64)


@pytest.mark.parametrize(
    "wrong", ["f8", "<f4", "float", "S8", "", "torch.", bool, object, SimpleNamespace(), 1]
)
def test_other_spellings_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^dtype is .*, no data type of zemm; there are: .*f32 \(float32\)"):
        zemm.dtype_name(wrong)


@pytest.mark.xdist_group("mypy")
def test_mypy_refuses_wrong_words(mypy_cache: Path) -> None:
    """mypy finds an error in exactly those lines of typed_usage.py that say so."""
    file = Path(__file__).with_name("typed_usage.py")
    lines = file.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if line.endswith("# refused")}
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--cache-dir",
        str(mypy_cache),
        "--hide-error-context",
        str(file),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = {int(number) for number in re.findall(r"typed_usage\.py:(\d+): error", done.stdout)}
    assert len(expected) > 15
    assert found == expected, done.stdout + done.stderr
