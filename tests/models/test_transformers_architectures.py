# SPDX-License-Identifier: Apache-2.0
"""Tiny models of an eighth of Transformers' architectures, which the commit chooses, quantised in each way.

`python tests/models/architectures.py` tries all of them.
"""

import faulthandler
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from architectures import LIMIT, NOT_TINY, REFUSED, outcome
from support_architectures import EXTRA, NAMES
from support_twins import WAYS

PARTS = 8
# Classes of layers, experts and names that zemm once took for others.
ALWAYS = {"causal-falcon", "causal-lara_mini", "causal-llama4_text", "causal-xlnet"}


def chosen() -> list[str]:
    """Those whose turn it is at this commit; without git, the first part."""
    command = ["git", "rev-parse", "--short=2", "HEAD"]
    run = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return sorted({*NAMES[int(run.stdout[:2] or "0", 16) % PARTS :: PARTS], *ALWAYS})


@pytest.fixture(autouse=True)
def limit() -> Iterator[None]:
    """Ends the process of a test that hangs, wherever it does."""
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", chosen())
def test_architecture(name: str, way: str) -> None:
    found = outcome(name, way)
    assert found.kind != "failed", found.about


def test_names() -> None:
    """The tables name architectures that this version of Transformers has."""
    kinds = {name.partition("-")[2] for name in NAMES}
    assert len(NAMES) > 200
    assert {name for name, _ in REFUSED} | NOT_TINY.keys() <= set(NAMES)
    assert EXTRA.keys() <= kinds | set(NAMES)
