# SPDX-License-Identifier: Apache-2.0
"""Weights and src that are parts of larger tensors (submemory descriptors), on every row."""

import pytest
import zemm
from support_parts import problems_of
from support_rows import ROWS, skip_without_feature
from support_run import make_pd, run


@pytest.mark.full
@pytest.mark.parametrize("row", ROWS)
def test_neighbours_are_not_read(
    engine: zemm.Engine, stream: zemm.Stream, monkeypatch: pytest.MonkeyPatch, row: str
) -> None:
    """Around a part, integers are random and floats are NaN. The result is right only if the kernel
    uses the part alone.
    """
    monkeypatch.setenv("ZEMM_KERNEL", row)
    skip_without_feature(engine, row)
    taken = set()
    for name, problem in problems_of(row):
        try:
            make_pd(engine, problem)
        except NotImplementedError:
            continue  # test_kernels.py and test_xe_rows.py check the reasons
        try:
            run(engine, stream, problem)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from error
        taken.add(name.split(",")[0])
    assert taken
