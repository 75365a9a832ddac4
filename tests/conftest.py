# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: the CPU engine, which every machine must have, and a stream on it."""

import pytest
import zemm


@pytest.fixture(scope="session")
def engine() -> zemm.Engine:
    try:
        return zemm.Engine("cpu")
    except zemm.ZemmError as error:
        pytest.fail(f"the CPU engine cannot be created: {error}", pytrace=False)


@pytest.fixture
def stream(engine: zemm.Engine) -> zemm.Stream:
    return zemm.Stream(engine)
