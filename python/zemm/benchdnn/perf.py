# SPDX-License-Identifier: Apache-2.0
"""The perf line of one case: the tokens of its template with numbers from the kept runs."""

from zemm.benchdnn.case import Case
from zemm.benchdnn.expand import Job
from zemm.benchdnn.template import Token, parse_token, substitute, tokens
from zemm.benchdnn.verdict import Result


def format_line(job: Job, result: Result) -> str:
    """The template of `job` filled in: times in ms, flops and bw per second, divided by the token's unit."""
    values = {
        text: _value(parse_token(text, "--perf-template"), job, result) for text in tokens(job.perf_template)
    }
    return substitute(job.perf_template, values)


def _value(token: Token, job: Job, result: Result) -> str:
    if token.is_text:
        return _text(token.name, job, result)
    return f"{_number(token, job.case, result) / token.unit:g}"


def _text(name: str, job: Job, result: Result) -> str:
    case = job.case
    dt = case.dt[0] if len(set(case.dt)) == 1 else ":".join(case.dt)
    texts = {
        "prb": case.repro(),
        "desc": str(case.problem),
        "engine": case.options.engine_text,
        "name": case.problem.name,
        "dt": dt,
        "sdt": dt,
        "ddt": case.dt[2],
        "bia_dt": case.bia_dt,
        "stag": case.tags[0],
        "wtag": case.tags[1],
        "dtag": case.tags[2],
        "attr": " ".join(case.attributes.changed()),
        "ctx-init": case.ctx_init,
        "ctx-exe": case.ctx_exe,
        "driver": "matmul",
        "impl": result.impl,
        "idx": str(job.index),
    }
    return texts[name]


def _number(token: Token, case: Case, result: Result) -> float:
    bytes_moved = {
        "ibytes": result.bytes_in,
        "obytes": result.bytes_out,
        "iobytes": result.bytes_in + result.bytes_out,
        "bw": result.bytes_in + result.bytes_out,
    }
    if token.name in ("ctime", "cpdtime", "cptime"):
        stages = {
            "ctime": ("create_pd", "create_prim"),
            "cpdtime": ("create_pd",),
            "cptime": ("create_prim",),
        }
        return 1e3 * sum(result.stages.get(stage, 0.0) for stage in stages[token.name])
    if token.name == "ops":
        return float(case.problem.ops)
    time = _chosen(result.times_ms, token.choice)
    if token.name == "time":
        return time
    if token.name == "flops":
        return case.problem.ops / time * 1e3 if time else 0.0
    if token.name == "bw":
        return bytes_moved["bw"] / time * 1e3 if time else 0.0
    return float(bytes_moved.get(token.name, 0.0))


def _chosen(times: list[float], choice: str) -> float:
    if choice == "0":
        return sum(times) / len(times)
    return max(times) if choice == "+" else min(times)
