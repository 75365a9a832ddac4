# SPDX-License-Identifier: Apache-2.0
"""Fixtures for all tests, and the two tiers of tests.

The fixtures are the CPU engine, which every machine must have, a stream on it, and what processes
of a test inherit.

Without an option pytest runs the quick tier: each kernel, type and attribute. `--full` runs all cases. A
test marked `full` is not in the quick tier. A test marked `quick(cases=f)` has those cases in the quick
tier for which f returns true; f gets the test's parameters by name. A test marked `each_value` has as many of
these as together have each value of each parameter: what pairs of values do is the business of others. A
test marked `decided(cases=f)` is a product whose other cases run with `--full` only if f returns true: those
that show a decision of the library (support_decisions.py). `--part=I/N` runs one of N parts of what was
chosen.
"""

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import support_signals
import zemm
from hypothesis import settings
from support_engine import the_engine

# Others may use the machine, so a single example may take any time.
settings.register_profile("zemm", deadline=None)
settings.load_profile("zemm")
LEFT_OUT = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("tiers")
    group.addoption("--full", action="store_true", help="all cases of all tests (most of an hour)")
    group.addoption("--full-only", action="store_true", help="the cases that only --full runs")
    group.addoption(
        "--part", type=part, metavar="I/N", help="long tests, and the others whose turn is I of 0 to N-1"
    )


def part(text: str) -> tuple[int, int]:
    """I and N of I/N. ValueError: the text has another form, or I is none of 0 to N-1."""
    turn, turns = map(int, text.split("/"))
    if not 0 <= turn < turns:
        raise ValueError(text)
    return turn, turns


def pytest_configure(config: pytest.Config) -> None:
    """Give all tests and their processes one folder of built modules, which is not the user's.

    The folder stays for the next run; `pytest --cache-clear` empties it. It may hold the modules of the
    full tier, which exceed the default limit. The C tests that only use modules have the same folder
    (tests/c/meson.build).
    """
    config.stash[LEFT_OUT] = 0
    # Each worker has a core. Threads of numpy would wait for those of other workers.
    environment = {"OPENBLAS_NUM_THREADS": "1"}
    # Programs of the tests import what the tests import.
    path = [os.environ.get("PYTHONPATH", ""), str(Path(support_signals.__file__).parent)]
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
    if "ZEMM_CACHE_DIR" not in os.environ:
        folder = config.cache.mkdir("zemm-modules")  # type: ignore[union-attr]
        folder.chmod(0o700)  # the library loads only from folders that others cannot write
        environment |= {"ZEMM_CACHE_DIR": str(folder), "ZEMM_CACHE_SIZE": "4096"}
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    for name, value in environment.items():
        patch.setenv(name, value)


def is_quick(item: pytest.Item) -> bool:
    """Whether the quick tier has the case, if the test is not marked each_value."""
    if item.get_closest_marker("full"):
        return False
    mark = item.get_closest_marker("quick")
    return not mark or has_case(mark, item)


def with_each_value(items: list[pytest.Item]) -> set[pytest.Item]:
    """The items without those of tests marked each_value whose values others have: always that stays which
    has most values that none before it has.
    """
    products: dict[str, dict[pytest.Item, set[tuple[str, str]]]] = {}
    for item in items:
        if item.get_closest_marker("each_value"):
            products.setdefault(item.nodeid.partition("[")[0], {})[item] = values_of(item)
    left_out: set[pytest.Item] = set()
    for product in products.values():
        while any(product.values()):
            most = max(product, key=lambda item: len(product[item]))
            met = product.pop(most)
            for rest in product.values():
                rest -= met
        left_out |= product.keys()
    return set(items) - left_out


def values_of(item: pytest.Item) -> set[tuple[str, str]]:
    """The values of the parameters, of each parametrize one."""
    parameters = item.callspec.params  # type: ignore[attr-defined]
    marks = [mark.args[0] for mark in item.iter_markers("parametrize")]
    names = [name.replace(" ", "").split(",") if isinstance(name, str) else name for name in marks]
    return {(str(of_one), repr([parameters[name] for name in of_one])) for of_one in names}


def has_case(mark: pytest.Mark, item: pytest.Item) -> bool:
    cases, parameters = mark.kwargs["cases"], item.callspec.params  # type: ignore[attr-defined]
    return bool(cases(**{name: parameters[name] for name in inspect.signature(cases).parameters}))


def order_of(item: pytest.Item) -> tuple[int, Path, int]:
    """Long tests begin first, so that no worker waits for one of them at the end, then groups. All others are
    shuffled: neighbours in a file need the same modules, which two workers would build at the same time.
    """
    if item.get_closest_marker("long"):
        return 0, item.path, 0
    if item.get_closest_marker("xdist_group"):
        return 1, item.path, 0
    return 2, Path(), crc32(item.nodeid.encode())


@pytest.hookimpl(trylast=True)  # after -k and -m: the library plans the cases of what is left
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    full, rest_of_full = config.getoption("full"), config.getoption("full_only")
    if full and rest_of_full:
        raise pytest.UsageError("--full has what --full-only has: give one of them")
    if full or rest_of_full:
        decided = ((item, item.get_closest_marker("decided")) for item in items)
        items[:] = [item for item, mark in decided if not mark or is_quick(item) or has_case(mark, item)]
    if not full:
        quick = with_each_value([item for item in items if is_quick(item)])
        chosen = [item for item in items if (item in quick) != rest_of_full]
        kept = set(chosen)
        left_out = [item for item in items if item not in kept]
        config.stash[LEFT_OUT] = len(left_out)
        config.hook.pytest_deselected(items=left_out)
        items[:] = chosen
    if turns := config.getoption("part"):
        items[:] = [item for item in items if is_long(item) or is_turn(item, *turns)]
    items.sort(key=order_of)


def is_long(item: pytest.Item) -> bool:
    """Whether the test, or what it shares with others of its group, takes long."""
    return bool(item.get_closest_marker("long") or item.get_closest_marker("xdist_group"))


def is_turn(item: pytest.Item, turn: int, turns: int) -> bool:
    return crc32(item.nodeid.encode()) % turns == turn


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):  # a worker of xdist tells the process that prints
        session.config.workeroutput["left_out"] = session.config.stash[LEFT_OUT]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[LEFT_OUT] = getattr(node, "workeroutput", {}).get("left_out", 0)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if left_out := config.stash[LEFT_OUT]:
        reason = "are of the quick tier" if config.getoption("full_only") else "run with --full"
        terminalreporter.write_line(f"left out: {left_out} that {reason}")


@pytest.fixture(scope="session")
def engine() -> zemm.Engine:
    return the_engine()


@pytest.fixture(scope="session")
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of mypy, for tests of the group mypy."""
    return tmp_path_factory.mktemp("mypy")


@pytest.fixture
def stream(engine: zemm.Engine) -> zemm.Stream:
    return zemm.Stream(engine)


@pytest.fixture
def default_signals() -> Iterator[None]:
    """Processes that the test starts ignore and block no signals, whatever pytest's parent does."""
    with support_signals.default_signals():
        yield
