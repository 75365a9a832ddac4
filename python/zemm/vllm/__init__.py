# SPDX-License-Identifier: Apache-2.0
"""A plugin of vLLM: its linear layers of 4 and 8 bits run on zemm's CPU device.

vLLM finds register() by its entry point in the group vllm.general_plugins, in each of its processes.
VLLM_PLUGINS chooses plugins, and VLLM_DISABLED_KERNELS=ZemmMPLinearKernel,ZemmInt8LinearKernel leaves these
kernels out.
"""

import logging

from zemm.engine import Engine
from zemm.errors import ZemmError

__all__ = ["register"]

_log = logging.getLogger("zemm")


def register() -> None:
    """Put zemm's kernels before vLLM's own for CPUs, once. Nothing is registered, and a line of the log
    says why, if zemm has no CPU device or vLLM has another interface than the kernels know."""
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
        Engine("cpu")
    except ZemmError as error:
        _log.warning("zemm registers no kernels with vLLM: %s", error)
        return
    for kernel, table in tables():
        kernels = table.setdefault(PlatformEnum.CPU, [])
        if kernel not in kernels:
            kernels.insert(0, kernel)
