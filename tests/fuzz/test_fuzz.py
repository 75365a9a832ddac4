# SPDX-License-Identifier: Apache-2.0
"""Runs each target of fuzz.py for a few seconds. Inputs that once failed come first."""

from pathlib import Path

import pytest
from fuzz import fuzz
from fuzz_targets import TARGETS


@pytest.mark.full
@pytest.mark.parametrize("target", TARGETS)
def test_random_input(target: str, tmp_path: Path) -> None:
    failure = fuzz(target, 5, 1, tmp_path)
    assert failure is None, failure
