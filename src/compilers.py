# SPDX-License-Identifier: Apache-2.0
"""compilers.py: prints the names of the newest clang-N and llvm-spirv-N of one version on PATH.

Prints nothing if there is no such pair. Together they compile OpenCL C to SPIR-V.
"""

import os
import re
import shutil
from pathlib import Path

OLDEST = 15
LLVM_SPIRV = re.compile(r"llvm-spirv-(\d+)")


def newest_pair() -> tuple[str, str] | None:
    folders = [Path(folder) for folder in os.get_exec_path() if Path(folder).is_dir()]
    found = {LLVM_SPIRV.fullmatch(file.name) for folder in folders for file in folder.glob("llvm-spirv-*")}
    for version in sorted({int(match[1]) for match in found if match}, reverse=True):
        pair = f"clang-{version}", f"llvm-spirv-{version}"
        if version >= OLDEST and all(shutil.which(program) for program in pair):
            return pair
    return None


if __name__ == "__main__":
    print(*(newest_pair() or []))
