# SPDX-License-Identifier: Apache-2.0
"""Creates the primitive descriptor and the primitive of a case."""

import importlib
from typing import Any

from zemm.benchdnn.data import build
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.run import verdict
from zemm.benchdnn.run.verdict import Result


def primitive(case: Case, engine: Any, result: Result) -> tuple[Any, Any] | None:
    """The primitive descriptor and primitive of a case. None if there are none; the result then has
    the state."""
    zemm = importlib.import_module("zemm")
    try:
        with result.timed("create_pd"):
            pd = build.primitive_desc(zemm, engine, case)
        if not _chosen(case, pd, result):
            return None
        result.impl = pd.impl_info
        if case.options.attr_same_pd_check:
            plain = build.primitive_desc(zemm, engine, case, False).impl_info
            if plain != result.impl:
                sentence = f"attributes changed the implementation from '{plain}' to '{result.impl}'"
                result.end(verdict.FAILED, sentence=sentence)
        if case.options.check_ref_impl and "ref" in result.impl:
            result.end(verdict.FAILED, verdict.REF_IMPL)
        with result.timed("create_prim"):
            found = zemm.Primitive(pd)
        result.impl = found.impl_info
        if case.options.is_perf:
            # The primitive is in the cache now.
            with result.timed("create_pd"):
                build.primitive_desc(zemm, engine, case)
            with result.timed("create_prim"):
                zemm.Primitive(pd)
        return pd, found
    except NotImplementedError as error:
        if _lacks_a_type(zemm, engine, case):
            result.end(verdict.SKIPPED, verdict.TYPE_NOT_SUPPORTED, str(error))
        else:
            result.end(verdict.UNIMPLEMENTED, sentence=str(error))
    except ValueError as error:
        result.end(verdict.INVALID_ARGUMENTS, sentence=str(error))
    return None


def _chosen(case: Case, pd: Any, result: Result) -> bool:
    """Move pd to the first implementation that the filter takes. False if it takes none."""
    verbose = case.options.verbose
    while not case.impl_filter.accepts(pd.impl_info):
        if verbose >= 6:
            result.lines.append(f"[IMPL_FILTER] Implementation skipped: {pd.impl_info}")
        if not pd.next_impl():
            if verbose >= 2:
                result.lines.append("[IMPL_FILTER] All implementations were skipped!")
            result.end(verdict.SKIPPED, verdict.SKIP_IMPL)
            return False
    return True


def _lacks_a_type(zemm: Any, engine: Any, case: Case) -> bool:
    """Whether a case has f64, and the engine has no arithmetic of it. All engines have the other
    types."""
    if "f64" not in (*case.dt, case.bia_dt):
        return False
    md = zemm.MemoryDesc((1, 1), "f64")
    try:
        zemm.MatmulPrimitiveDesc(engine, md, md, md)
    except NotImplementedError:
        return True
    return False
