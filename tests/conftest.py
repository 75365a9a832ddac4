# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests: the CPU engine, which every machine must have, and a stream on it."""

import os
import shutil
import tempfile

import pytest
import zemm

CACHE = pytest.StashKey[str]()


def pytest_configure(config: pytest.Config) -> None:
    """One folder of built modules for all tests and their processes: not the user's, and empty at first."""
    if "ZEMM_CACHE_DIR" not in os.environ:
        config.stash[CACHE] = os.environ["ZEMM_CACHE_DIR"] = tempfile.mkdtemp(prefix="zemm-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE in config.stash:
        del os.environ["ZEMM_CACHE_DIR"]
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


@pytest.fixture(scope="session")
def engine() -> zemm.Engine:
    try:
        return zemm.Engine("cpu")
    except zemm.ZemmError as error:
        pytest.fail(f"the CPU engine cannot be created: {error}", pytrace=False)


@pytest.fixture
def stream(engine: zemm.Engine) -> zemm.Stream:
    return zemm.Stream(engine)
