# SPDX-License-Identifier: Apache-2.0
"""docs/python.md: its snippets run, and the errors that it quotes are those of the library."""

import re

import numpy as np
import pytest
import zemm
from readme import ROOT

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")


def test_snippets() -> None:
    snippets = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)
    assert len(snippets) == PAGE.count("```python") > 5
    exec("".join(snippets), {})


def test_quoted_errors(engine: zemm.Engine, stream: zemm.Stream) -> None:
    (quoted,) = re.findall(r"(?ms)^```\n(engine .*?)^```$", PAGE)
    x = np.ones((2, 4), np.float32)
    md = zemm.MemoryDesc((4, 4), "f32")
    primitive = zemm.Primitive(zemm.MatmulPrimitiveDesc(engine, md, md, md))
    calls = [
        lambda: zemm.Stream("cpu"),  # type: ignore[arg-type]
        lambda: primitive.execute(stream, {zemm.ARG_SRC: x}),  # type: ignore[dict-item]
        lambda: primitive.execute(stream, {"src": zemm.Memory(md, engine)}),  # type: ignore[dict-item]
        lambda: zemm.matmul(x, x.T, fpmath="oops"),  # type: ignore[arg-type]
    ]
    for call, sentence in zip(calls, quoted.splitlines(), strict=True):
        with pytest.raises(zemm.InvalidArgumentsError) as caught:
            call()
        assert str(caught.value) == sentence
