# SPDX-License-Identifier: Apache-2.0
"""Fixtures of all tests (the CPU engine, which every machine must have, and a stream on it), and two tiers.

Without an option pytest runs the quick tier: each kernel, type and attribute (test_tiers.py). `--full` runs
all cases. A test marked `full` is not in the quick tier. Of a test marked `quick(cases=f)` the quick tier has
the cases for which f is true; f gets the test's parameters by their names.
"""

import inspect
import os
import shutil
import tempfile
from typing import Any

import pytest
import zemm

CACHE = pytest.StashKey[str]()
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--full", action="store_true", help="all cases of all tests (half an hour)")
    group.addoption("--full-only", action="store_true", help="of --full what a run without it leaves out")


def pytest_configure(config: pytest.Config) -> None:
    """One folder of built modules for all tests and their processes: not the user's, and empty at first."""
    config.stash[LEFT_OUT] = 0
    if "ZEMM_CACHE_DIR" not in os.environ:
        config.stash[CACHE] = os.environ["ZEMM_CACHE_DIR"] = tempfile.mkdtemp(prefix="zemm-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE in config.stash:
        del os.environ["ZEMM_CACHE_DIR"]
        shutil.rmtree(config.stash[CACHE], ignore_errors=True)


def is_quick(item: pytest.Item) -> bool:
    if item.get_closest_marker("full"):
        return False
    mark = item.get_closest_marker("quick")
    if not mark:
        return True
    cases, parameters = mark.kwargs["cases"], item.callspec.params  # type: ignore[attr-defined]
    return bool(cases(**{name: parameters[name] for name in inspect.signature(cases).parameters}))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    full, rest_of_full = config.getoption("full"), config.getoption("full_only")
    if full and rest_of_full:
        raise pytest.UsageError("--full has what --full-only has: give one of them")
    if not full:
        chosen = [item for item in items if is_quick(item) != rest_of_full]
        kept = set(chosen)
        left_out = [item for item in items if item not in kept]
        config.stash[LEFT_OUT] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen
    # What takes long begins first, so that no worker waits for it at the end.
    items.sort(key=lambda item: not item.get_closest_marker("long"))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a worker of xdist, which tells the process that prints
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if left_out := config.stash[LEFT_OUT]:
        reason = "are of the quick tier" if config.getoption("full_only") else "run with --full"
        terminalreporter.write_line(f"{left_out} cases {reason}")


@pytest.fixture(scope="session")
def engine() -> zemm.Engine:
    try:
        return zemm.Engine("cpu")
    except zemm.ZemmError as error:
        pytest.fail(f"the CPU engine cannot be created: {error}", pytrace=False)


@pytest.fixture
def stream(engine: zemm.Engine) -> zemm.Stream:
    return zemm.Stream(engine)
