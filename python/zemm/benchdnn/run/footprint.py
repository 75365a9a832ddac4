# SPDX-License-Identifier: Apache-2.0
"""`--mem-check`: how much memory a case needs, and how much there is."""

import os
from dataclasses import dataclass
from typing import Any

from zemm.benchdnn.data.cold_cache import CACHE_BYTES
from zemm.benchdnn.grammar import arguments as args
from zemm.benchdnn.grammar.arguments import Argument
from zemm.benchdnn.grammar.case import Case
from zemm.benchdnn.grammar.dtypes import BY_NAME
from zemm.benchdnn.grammar.encodings import Sparsity

SHARE = 0.7  # of the memory that a case may take
_INDICES = 8  # bytes of the two s32 indices of a stored element
_F32, _F64 = 4, 8
_RESULTS = 3  # dst as f32: exact, rounded, and what the library made


@dataclass(frozen=True)
class Footprint:
    """The bytes of a case: those of its tensors on the device, of the largest of these, and of what
    the driver keeps on the host beside them. An upper estimate."""

    device: int
    largest: int
    host: int


@dataclass(frozen=True)
class Capacity:
    """The bytes of memory of the host and of the device, and of the device's largest allocation."""

    host: int
    device: int
    allocation: int


def footprint(case: Case, scratchpad: int = 0) -> Footprint:
    """The memory for a case. scratchpad: the bytes of its primitive's scratchpad."""
    options = case.options
    tensors = [*args.matrices(case), *args.quantizations(case), *args.post_op_tensors(case)]
    sizes = [*(_bytes_of(tensor) for tensor in tensors if not tensor.is_dst), scratchpad]
    copies = options.num_streams if options.is_perf else 1
    cold = CACHE_BYTES if options.is_perf and options.cold_cache != "none" else 0
    return Footprint(copies * (sum(sizes) + cold), max(sizes), _host_bytes(case, tensors))


def _bytes_of(argument: Argument) -> int:
    if argument.data_type == "undef":
        return 0
    bits = BY_NAME[argument.data_type].bits
    if isinstance(argument.encoding, Sparsity):
        return argument.encoding.stored(argument.count) * (bits // 8 + _INDICES)
    return argument.count * bits // 8


def _host_bytes(case: Case, tensors: list[Argument]) -> int:
    count = {argument.arg: argument.count for argument in tensors}
    mode = case.options.mode
    if mode == "C":
        # The values of all tensors, weights (of one group) for a product in f64, and dst.
        groups = case.grouped.count if case.grouped else 1
        wide = _F64 * count[args.WEI] // groups
        return _F32 * sum(count.values()) + wide + _RESULTS * _F32 * count[args.DST]
    if mode == "B":
        return 2 * _bytes_of(next(a for a in tensors if a.arg == args.DST))
    return _F32 * max(count.values()) if case.options.fills else 0


def capacity(engine: Any) -> Capacity:
    """The memory for cases on an engine. A GPU whose driver does not tell has as much as the host."""
    host = host_memory()
    model = engine.model if engine.kind == "gpu" else {}
    return Capacity(host, model.get("memory_bytes", host), model.get("max_alloc_bytes", 2**64))


def host_memory() -> int:
    """The bytes of the machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def needs_the_memory(case: Case, count: int) -> bool:
    """Whether the machine has too little memory for `count` such cases at the same time."""
    needed = footprint(case)
    return count * (needed.device + needed.host) > SHARE * host_memory()


def shortage(needed: Footprint, there_is: Capacity) -> str:
    """The reason why memory does not suffice; '' if a case fits."""
    if needed.device > SHARE * there_is.device:
        return "not enough memory of the device"
    if needed.largest > there_is.allocation:
        return f"an allocation of {shown(needed.largest)} is more than the device's limit"
    # A GPU may share the host's memory.
    if needed.device + needed.host > SHARE * there_is.host:
        return "not enough memory of the host"
    return ""


def line(needed: Footprint, there_is: Capacity, what: str) -> str:
    """The line `[CHECK_MEM]` of -v1, if a case does not fit, and of -v6."""
    parts = (
        f"{what or 'fits'}",
        f"requested: {shown(needed.device)} (device), {shown(needed.host)} (host)",
        f"limit: {shown(int(SHARE * there_is.device))} (device), {shown(int(SHARE * there_is.host))} (host)",
        f"memory: {shown(there_is.device)} (device), {shown(there_is.host)} (host)",
    )
    return f"[CHECK_MEM]: {'; '.join(parts)};"


def shown(count: int) -> str:
    """A number of bytes in the largest unit of which there is one."""
    size, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if size >= 1024:
            size, unit = size / 1024, larger
    return f"{size:.4g} {unit}"
