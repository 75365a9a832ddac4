# SPDX-License-Identifier: Apache-2.0
"""The memory of a process, by default of this one. 0: the process has ended."""

from pathlib import Path

_KB = 1024


def resident(process: int | str = "self") -> int:
    """Bytes that are in memory now, pages of mapped files too."""
    return _status(process, "VmRSS")


def peak(process: int | str = "self") -> int:
    """The most bytes that have been in memory at once."""
    return _status(process, "VmHWM")


def _status(process: int | str, name: str) -> int:
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return 0
    found = next((line for line in lines if line.startswith(f"{name}:")), "0 0")
    return int(found.split()[1]) * _KB
