# SPDX-License-Identifier: Apache-2.0
"""Runs of zemm-benchdnn as records, without running anything."""

from dataclasses import replace

from zemm._programs.results import REFUSED
from zemm.benchdnn.report.records import Record, Run

PEAKS = {"int8": 2000.0, "f32": 500.0, "copy": 40.0, "read": 50.0}
NASTY = "</script><b>&\"'\N{SNOWMAN}"


def timed(
    index: int, name: str, who: str = "zemm", milliseconds: float = 2.0, ratio: float | None = None
) -> Record:
    """A timed record of 31x256:256x64. Its device times are half of the host times; a peer has none."""
    operations, size = 2 * 31 * 256 * 64, 31 * 256 + 256 * 64 + 4 * 31 * 64
    gops, bandwidth = operations / milliseconds / 1e6, size / milliseconds / 1e6
    device = (milliseconds / 2, milliseconds) if who == "zemm" else (None, None)
    return Record(
        index, "31x256:256x64", name, who, "1.0", "--matmul 31x256:256x64", "EXECUTED", "", "a_kernel",
        *device, milliseconds, 2 * milliseconds, gops, bandwidth, 10.0, "f32", ratio, ratio, operations, size,
    )  # fmt: skip


def refused(index: int, who: str, reason: str) -> Record:
    return Record(index, "31x256:256x64", "", who, "1.0", "31x256:256x64", REFUSED, reason, "")


def run(
    *records: Record,
    peaks: dict[str, float] = PEAKS,
    command: str = "zemm-benchdnn",
    interrupted: bool = False,
) -> Run:
    devices = [{"engine": "cpu:0", "name": "A CPU", "features": ["avx2"]}]
    peers = {"onednn": "3.13"}
    return Run(
        "2026-11-23T11:00:00+00:00",
        command,
        "A CPU",
        2,
        "0.1.0",
        peers,
        ["peer ggml left out: it is gone"],
        devices,
        peaks,
        interrupted,
        list(records),
    )


def contest() -> Run:
    """Two cases, the first beside three peers: one is five times slower, one refuses, and one runs its
    reference."""
    return run(
        timed(0, NASTY),
        timed(0, NASTY, "onednn", 10.0, 5.0),
        refused(0, "torch", f"cannot do {NASTY}"),
        replace(timed(0, NASTY, "openvino", 900.0), kernel="ref_any:f32"),
        timed(1, "second", milliseconds=0.5),
        command=f"zemm-benchdnn --output={NASTY}.html",
    )
