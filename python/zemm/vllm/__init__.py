# SPDX-License-Identifier: Apache-2.0
"""A plugin of vLLM: its linear layers and experts of 4 and 8 bits run on zemm's CPU device.

vLLM finds register() by its entry point in the group vllm.general_plugins, in each of its processes.
VLLM_PLUGINS chooses plugins, and VLLM_DISABLED_KERNELS=ZemmMPLinearKernel,ZemmInt8LinearKernel,ZemmExperts
leaves these out.
"""

import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from zemm.engine import Engine
from zemm.errors import ZemmError

__all__ = ["register"]

_log = logging.getLogger("zemm")

# The variables by which vLLM binds a worker's threads, and the CPUs in them.
_BINDINGS = {
    "GOMP_CPU_AFFINITY": r"([\d ]+)",
    "KMP_AFFINITY": r".*proclist=\[([\d,]+)\]",
    "OMP_PLACES": r"\{([\d,]+)\}",
}


def register() -> None:
    """Put zemm's kernels and experts before vLLM's own for CPUs, once. Nothing is registered, and a line of
    the log says why, if zemm has no CPU device or vLLM has another interface than the kernels know. Where the
    experts know another one, they alone are left out."""
    try:
        from vllm.platforms import PlatformEnum, current_platform

        if not current_platform.is_cpu():
            return
        from zemm.vllm._kernels import tables
    except (ImportError, AttributeError, TypeError) as error:
        _log.warning(
            "zemm registers no kernels with vLLM, whose interface is not that of 0.32 and 0.33: %s", error
        )
        return
    try:
        with _cpus_of_worker():
            Engine("cpu")
    except ZemmError as error:
        _log.warning("zemm registers no kernels with vLLM: %s", error)
        return
    for kernel, table in tables():
        kernels = table.setdefault(PlatformEnum.CPU, [])
        if kernel not in kernels:
            kernels.insert(0, kernel)
    try:
        from zemm.vllm._experts import use_experts
    except (ImportError, AttributeError, TypeError) as error:
        _log.warning(
            "zemm registers no experts with vLLM, whose interface is not that of 0.32 and 0.33: %s", error
        )
        return
    use_experts()


@contextmanager
def _cpus_of_worker() -> Iterator[None]:
    """For a while the calling thread may run on all CPUs that vLLM gives to its worker. OpenMP binds this
    thread to one of them, and the CPU device takes the CPUs of the thread that is the first to ask for it."""
    found = (re.fullmatch(pattern, os.environ.get(name, "")) for name, pattern in _BINDINGS.items())
    cpus = next((set(map(int, re.findall(r"\d+", match[1]))) for match in found if match), None)
    before = os.sched_getaffinity(0)
    if cpus:
        try:
            os.sched_setaffinity(0, cpus)
        except OSError as error:
            _log.warning("zemm uses the CPUs %s: those that vLLM names cannot be used: %s", before, error)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
