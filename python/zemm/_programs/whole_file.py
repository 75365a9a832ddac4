# SPDX-License-Identifier: Apache-2.0
"""Files that appear whole or not at all, as a reader may look at any time."""

import os
import secrets
from pathlib import Path

from zemm._programs.usage import UsageError


def check_writable(path: Path, option: str) -> None:
    """UsageError, which names the option, if the file could not be written."""
    if path.is_dir():
        raise UsageError(f"err: {option}={path}: this is a folder")
    _temporary(path, b"", option).unlink()


def write_whole(path: Path, content: bytes, option: str) -> None:
    """Write or replace a file. UsageError, which names the option, if that fails."""
    temporary = _temporary(path, content, option)
    try:
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"err: {option}={path}: {error.strerror}") from None


def _temporary(path: Path, content: bytes, option: str) -> Path:
    """Write a file beside `path`, to be renamed. Its name is new: in a folder where others may write, a
    name that they can guess may be their link to a file of the user."""
    temporary = path.with_name(f".zemm-{secrets.token_hex(12)}")
    made = False
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        made = True
        with open(descriptor, "wb") as file:
            file.write(content)
    except BaseException as error:
        if made:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise UsageError(f"err: {option}={path}: {error.strerror}") from None
        raise
    return temporary
