# SPDX-License-Identifier: Apache-2.0
"""What src/ggml declares of ggml's interface is what the headers of a ggml declare."""

from pathlib import Path

import pytest
from support_llama_cpp import source
from support_process import captured
from support_tree import ROOT

PROGRAM = Path(__file__).with_name("abi.cpp")
OURS = ROOT / "src"


def compiled(folder: Path, ours: Path) -> tuple[int, str]:
    """The status and the messages of the compiler; ours: the folder of the declarations."""
    theirs = source() / "ggml"
    headers = [f"-isystem{theirs / name}" for name in ("include", "src")]
    # The compiler leaves out functions of the headers that are not used; they need a ggml to link with.
    command = [
        "c++",
        "-std=c++20",
        "-O1",
        "-Wall",
        "-Wextra",
        "-Werror",
        f"-I{ours}",
        f"-I{ROOT / 'include'}",
    ]
    files = ["-mavx2", PROGRAM, OURS / "ggml" / "formats.cpp", "-o", folder / "abi"]
    done = captured([*command, *headers, *files], timeout=240)
    return done.returncode, done.stderr


def test_declarations(tmp_path: Path) -> None:
    status, messages = compiled(tmp_path, OURS)
    assert status == 0, messages
    done = captured([tmp_path / "abi"])
    assert (done.returncode, done.stdout) == (0, "")


@pytest.mark.parametrize(
    ("file", "right", "wrong", "message"),
    [
        ("abi.hpp", "    void *extra;", "    void *extra, *another;", "ggml_tensor::padding is elsewhere"),
        (
            "abi.hpp",
            "int (*get_type)(device *)",
            "int (*get_type)(device *, int)",
            "get_type has another type",
        ),
        ("abi.hpp", "flag_compute = 16", "flag_compute = 8", "FLAG_COMPUTE"),
        ("functions.def", "(int type)", "(int type, int)", "ggml_type_name"),
    ],
)
def test_finds_what_differs(file: str, right: str, wrong: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ggml").mkdir()
    for name in ("abi.hpp", "functions.def", "formats.hpp"):
        text = (OURS / "ggml" / name).read_text()
        assert name != file or right in text
        (tmp_path / "ggml" / name).write_text(text.replace(right, wrong) if name == file else text)
    status, messages = compiled(tmp_path, tmp_path)
    assert status != 0
    assert message in messages
