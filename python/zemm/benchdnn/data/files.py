# SPDX-License-Identifier: Apache-2.0
"""`--buffer-prefix=P`: tensors whose bytes are those of the file `P.ARGUMENT.bin`."""

from pathlib import Path

import numpy as np

from zemm._programs.usage import UsageError
from zemm.benchdnn.data.layout import Bytes


def path_of(prefix: str, arg: int) -> Path:
    """The file of an argument of an execution."""
    return Path(f"{prefix}.{arg}.bin")


def read(path: Path, role: str, size: int) -> Bytes | None:
    """The `size` bytes of a file; None if there is no such file. UsageError if it has another size or
    cannot be read."""
    try:
        raw = np.fromfile(path, np.uint8)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise UsageError(f"err: --buffer-prefix: {path} for {role} cannot be read: {error}") from None
    if raw.size != size:
        raise UsageError(
            f"err: --buffer-prefix: {path} for {role} has {raw.size} bytes, the tensor has {size}"
        )
    return raw


def line(path: Path, role: str, is_read: bool) -> str:
    """The line of -v2 about a file."""
    return f"[FILL]: {role} {'is read from' if is_read else 'has no file'} {path}"
