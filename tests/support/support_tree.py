# SPDX-License-Identifier: Apache-2.0
"""The source tree, and its files."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def tracked() -> list[Path]:
    """The files that git tracks. In a source tree without git, every file except those of builds
    and caches.
    """
    result = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if result.returncode == 0:
        names = [name for name in result.stdout.split("\0") if name]
        return [ROOT / name for name in names if (ROOT / name).is_file()]
    hidden = re.compile(r"/(\.(?!ci/|clang|pre)|build|__pycache__)|\.egg-info")
    return [
        path for path in sorted(ROOT.rglob("*")) if path.is_file() and not hidden.search(f"/{name_of(path)}")
    ]


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()
