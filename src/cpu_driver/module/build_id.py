# SPDX-License-Identifier: Apache-2.0
"""build_id.py OUT FILE...: C++ source with a hash of FILE... and of the headers of ours that they include.

Files count by name and content. OUT.d gets the dependencies.
"""

import hashlib
import re
import sys
from pathlib import Path

out, *pending = (Path(argument) for argument in sys.argv[1:])
files: set[Path] = set()
while pending:
    file = pending.pop()
    if file in files:
        continue
    files.add(file)
    # In the file's room and in the folder of the rooms: the headers of others are not there.
    for name in re.findall(r'(?m)^#include "([\w/.]+)"', file.read_text()):
        pending += [path for path in (file.parent / name, file.parent.parent / name) if path.exists()]

total = hashlib.sha256()
for file in sorted(files, key=lambda path: path.name):
    content = file.read_bytes()
    total.update(f"{file.name} {len(content)}\n".encode() + content)
lines = ['#include "device/handles.h"', "", "namespace ze_cpu {"]
lines += [f"const uint64_t build_id = 0x{total.hexdigest()[:16]};", "} // namespace ze_cpu", ""]
out.write_text("\n".join(lines))
Path(f"{out}.d").write_text(f"{out}: {' '.join(sorted(map(str, files)))}\n")
