# SPDX-License-Identifier: Apache-2.0
"""Weights and src that are parts of larger tensors (submemory descriptors), on every row."""

import pytest
import zemm
from support_decisions import needed
from support_parts import problems_of
from support_rows import ROWS, skip_without_feature
from support_run import make_pd, run


def of_first_variant(row: str, name: str) -> bool:
    return name.split(",")[0] == next(iter(problems_of(row))).split(",")[0]


# Each kind of part on each row, and each variant on a row of each policy.
IS_NEEDED = needed(
    ROWS,
    {name: None for row in ROWS for name in problems_of(row)},
    lambda row, name: problems_of(row).get(name),
    first=of_first_variant,
    covers=lambda name: set(name.split(", ")),
)


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS)
def test_neighbours_are_not_read(engine: zemm.Engine, row: str) -> None:
    """Around a part, integers are random and floats are NaN. The result is right only if the kernel
    uses the part alone.
    """
    skip_without_feature(engine, row)
    taken = set()
    for name, problem in problems_of(row).items():
        if not IS_NEEDED(row, name):
            continue
        try:
            make_pd(problem)
        except NotImplementedError:
            continue  # test_kernels.py and test_xe_rows.py check the reasons
        try:
            run(problem)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        taken.add(name.split(",")[0])
    assert taken
