# SPDX-License-Identifier: Apache-2.0
"""A parameter `row` of a test of kernels is the row that the library is told to take."""

import pytest


@pytest.fixture(autouse=True)
def forced_row(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "row" in request.fixturenames:
        monkeypatch.setenv("ZEMM_KERNEL", request.getfixturevalue("row"))
