# SPDX-License-Identifier: Apache-2.0
"""The CPU engine of all tests, and a stream on it."""

from functools import cache

import pytest
import zemm


@cache
def the_engine() -> zemm.Engine:
    try:
        return zemm.Engine("cpu")
    except zemm.ZemmError as error:
        pytest.fail(f"the CPU engine cannot be created: {error}", pytrace=False)


@cache
def the_stream() -> zemm.Stream:
    return zemm.Stream(the_engine())
