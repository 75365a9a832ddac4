# SPDX-License-Identifier: Apache-2.0
"""Programs that the tests run, with what they print."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def captured(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program. A status other than 0 is no error here. options: those of subprocess.run()."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)
