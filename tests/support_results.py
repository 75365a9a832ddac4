# SPDX-License-Identifier: Apache-2.0
"""Runs of zemm-benchdnn as records, without running anything."""

from zemm.benchdnn.records import REFUSED, Record, Run

PEAKS = {"int8": 2000.0, "f32": 500.0, "copy": 40.0, "read": 50.0}
NASTY = "</script><b>&\"'\N{SNOWMAN}"


def timed(
    index: int, name: str, who: str = "zemm", milliseconds: float = 2.0, ratio: float | None = None
) -> Record:
    """A timed record of 31x256:256x64."""
    operations, size = 2 * 31 * 256 * 64, 31 * 256 + 256 * 64 + 4 * 31 * 64
    gops, bandwidth = operations / milliseconds / 1e6, size / milliseconds / 1e6
    return Record(
        index, "31x256:256x64", name, who, "1.0", "--matmul 31x256:256x64", "EXECUTED", "", "a_kernel",
        milliseconds, 2 * milliseconds, milliseconds, 2 * milliseconds, gops, bandwidth, 10.0, "f32",
        ratio, ratio, operations, size,
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
        devices,
        peaks,
        interrupted,
        list(records),
    )


def contest() -> Run:
    """Two cases, the first beside two peers, one of which is five times slower and one refuses."""
    return run(
        timed(0, NASTY),
        timed(0, NASTY, "onednn", 10.0, 5.0),
        refused(0, "torch", f"cannot do {NASTY}"),
        timed(1, "second", milliseconds=0.5),
        command=f"zemm-benchdnn --output={NASTY}.html",
    )
