# SPDX-License-Identifier: Apache-2.0
"""A few seconds of random input for each target of fuzz.py, what once failed first."""

from pathlib import Path

import pytest
from fuzz import fuzz
from fuzz_targets import TARGETS


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_input(target: str, tmp_path: Path) -> None:
    failure = fuzz(target, 5, 1, tmp_path)
    assert failure is None, failure
