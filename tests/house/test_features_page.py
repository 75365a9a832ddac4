# SPDX-License-Identifier: Apache-2.0
"""docs/features.md: each case line ends as its row says, and the tests that it names exist.

The quick tier makes the descriptors of all cases, and executes all but most combinations of data
types.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import pytest
import zemm
from support_tree import ROOT
from zemm._library import lists
from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.attributes import Attributes
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.expand import Job, expand
from zemm.benchdnn.grammar.post_ops import Binary, Eltwise
from zemm.benchdnn.peers import PeerError
from zemm.benchdnn.peers.onednn_binding import Binding
from zemm.benchdnn.peers.onednn_library import open_library
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.runner import Runner, skip_reason

# The first words of zemm's cell: the page explains them. Value: may cases pass, may they be refused?
FIRST_WORDS = {
    "yes": (True, False),
    "more": (True, False),
    "differs": (True, True),
    "no": (False, True),
    "refused": (False, True),
}


@dataclass(frozen=True)
class Row:
    """A row of the page. types: those of src, weights, dst and bias, if the row has columns for
    them.
    """

    section: str
    feature: str
    zemm: str
    shown_by: tuple[str, ...]
    types: tuple[tuple[str, ...], ...] = ()

    @property
    def lines(self) -> list[str]:
        return [shown for shown in self.shown_by if shown.startswith("--")]

    @property
    def tests(self) -> list[str]:
        return [shown for shown in self.shown_by if not shown.startswith("--")]

    @property
    def state(self) -> str:
        """The state in which the row's cases end."""
        states = re.findall(r"\b(?:UNIMPLEMENTED|INVALID_ARGUMENTS|SKIPPED)\b", self.zemm)
        assert len(states) < 2, self
        return states[0] if states else verdict.PASSED

    @property
    def words(self) -> list[str]:
        """Parts of the sentence that says why."""
        return re.findall('"([^"]+)"', self.zemm)

    def cases_of_lines(self) -> list[Case]:
        return [job.case for line in self.lines for job in expand(line.split())[0]]

    def cases(self) -> list[Case]:
        """All cases that the row is about: those of its lines with all of its types."""
        cases = self.cases_of_lines()
        if not self.types:
            return cases
        (case,) = cases
        combinations = itertools.product(*self.types)
        all_types = [replace(case, dt=(src, wei, dst), bia_dt=bias) for src, wei, dst, bias in combinations]
        assert case in all_types
        return all_types


def rows_of(page: str) -> Iterator[Row]:
    section = ""
    for line in page.splitlines():
        if line.startswith("## "):
            section = line.removeprefix("## ")
        if not line.startswith("| ") or line.endswith(" shown by |"):
            continue
        *feature, says, shows = line.removeprefix("| ").removesuffix(" |").split(" | ")
        types = tuple(tuple(cell.split(", ")) for cell in feature) if len(feature) == 4 else ()
        yield Row(section, ":".join(feature), says, tuple(re.findall("`([^`]+)`", shows)), types)


ROWS = list(rows_of((ROOT / "docs/features.md").read_text(encoding="utf-8")))
WITH_LINES = [row for row in ROWS if row.lines]
PASSING = [row for row in WITH_LINES if row.state == verdict.PASSED]


def name_of(row: Row) -> str:
    return f"{row.section}: {row.feature}"


all_lines = pytest.mark.parametrize("row", WITH_LINES, ids=name_of)


def test_the_page_is_read() -> None:
    assert len(WITH_LINES) > 80
    for row in ROWS:
        assert row.shown_by, row
        passes, is_refused = FIRST_WORDS[re.findall(r"\w+", row.zemm)[0]]
        if row.lines:
            assert passes if row.state == verdict.PASSED else is_refused, row


def test_all_attributes_and_algorithms_are_shown() -> None:
    shown = [case.attributes for row in WITH_LINES for case in row.cases_of_lines()]
    assert {knob for knob, _, _ in Attributes().knobs()} == {
        knob.partition("=")[0] for attributes in shown for knob in attributes.changed()
    }
    post_ops = {
        op.name
        for row in PASSING
        for case in row.cases_of_lines()
        for op in case.attributes.post_ops
        if isinstance(op, (Eltwise, Binary))
    }
    for kind in ("eltwise", "binary"):
        names = {name.replace("_use_dst_for_bwd", "_dst") for name in lists.algorithms_of(kind)}
        assert names - post_ops == set()


def test_named_tests_exist() -> None:
    for name in (name for row in ROWS for name in row.tests):
        file, *path = name.split("::")
        (found,) = (ROOT / "tests").rglob(file)
        text = found.read_text(encoding="utf-8")
        for part in path:
            in_c = rf"^\w.*[ *]{part}\(|^TEST\({part}\)"
            definition = rf"^ *(?:def|class) {part}\b" if file.endswith(".py") else in_c
            assert re.search(definition, text, re.M), name


def descriptor(engine: zemm.Engine, case: Case) -> zemm.MatmulPrimitiveDesc:
    return build.primitive_desc(zemm, engine, case)


def answer(engine: zemm.Engine, case: Case) -> tuple[str, str]:
    """The state of the descriptor: PASSED if the library makes it, and the reason if it does not."""
    if reason := skip_reason(case):
        return verdict.SKIPPED, reason
    try:
        descriptor(engine, case)
    except NotImplementedError as error:
        return verdict.UNIMPLEMENTED, str(error)
    except ValueError as error:
        return verdict.INVALID_ARGUMENTS, str(error)
    return verdict.PASSED, ""


@all_lines
def test_descriptors(engine: zemm.Engine, row: Row) -> None:
    for case in row.cases():
        state, reason = answer(engine, case)
        assert state == row.state, f"{case.full_repro()}: {reason}"
        assert all(words in reason for words in row.words), f"{case.full_repro()}: {reason}"


@pytest.mark.parametrize("row", [row for row in ROWS if row.section == "Which forms are fast"], ids=name_of)
def test_kernel_rows(engine: zemm.Engine, row: Row) -> None:
    """The rows of kernels.def that the page names, on a CPU like the one it names."""
    has = set(engine.features)
    if not {"avx512_vnni", "avx512_bf16"} <= has or any(feature.startswith("amx") for feature in has):
        pytest.skip("another CPU than the page's")
    kernel = row.feature.rpartition(":")[2].strip("`")
    for case in row.cases():
        assert descriptor(engine, case).impl_info.endswith(kernel), case.full_repro()


@pytest.mark.onednn
def test_onednn_refuses_too() -> None:
    """Rows that say so are right about oneDNN itself, where the driver can ask: dense matmuls."""
    try:
        onednn = Binding(*open_library())
    except PeerError as error:
        pytest.skip(str(error))
    asked = set()
    for row in WITH_LINES:
        for case in row.cases() if row.zemm.startswith("refused") else []:
            if case.is_inner_product or not case.is_dense:
                continue
            with pytest.raises((PeerError, ValueError)) as caught:
                build.primitive_desc(onednn, onednn.engine, case)
            if status := re.search(r"^dnnl_\w+ returned (\w+)", str(caught.value)):
                assert status[1].upper() == row.state, case.full_repro()
                asked.add(row)
    assert len(asked) > 15


def execute(cases: list[Case]) -> None:
    runner = Runner(lambda job, stage: None)
    for index, case in enumerate(cases):
        result = runner.run(Job(index, case, ""))
        assert result.state == verdict.PASSED, f"{case.full_repro()}: {result.sentence} {result.lines}"


@pytest.mark.full
@pytest.mark.parametrize("row", PASSING, ids=name_of)
def test_numbers(row: Row) -> None:
    execute(row.cases_of_lines())


@pytest.mark.full
@pytest.mark.parametrize("row", [row for row in PASSING if row.types], ids=name_of)
def test_numbers_of_all_types(row: Row) -> None:
    execute(row.cases())


def test_stride_0_of_an_operand(engine: zemm.Engine, stream: zemm.Stream) -> None:
    """The driver cannot show this: it would fill the repeated row with different values."""
    rng = np.random.default_rng(0)
    row, wei = (rng.integers(-4, 5, dims).astype(np.float32) for dims in ((1, 32), (32, 16)))
    dst = np.zeros((5, 16), np.float32)
    mds = [zemm.MemoryDesc((5, 32), "f32", strides=(0, 1)), zemm.MemoryDesc((32, 16), "f32")]
    pd = zemm.MatmulPrimitiveDesc(engine, *mds, zemm.MemoryDesc((5, 16), "f32"))
    src = zemm.Memory(mds[0], engine, row.view(np.uint8).ravel())
    args = {zemm.ARG_SRC: src, zemm.ARG_WEIGHTS: zemm.Memory(mds[1], engine, wei)}
    args[zemm.ARG_DST] = zemm.Memory(pd.query_md("dst_md"), engine, dst)
    zemm.Primitive(pd).execute(stream, args)
    stream.wait()
    assert np.array_equal(dst, np.repeat(row @ wei, 5, axis=0))
