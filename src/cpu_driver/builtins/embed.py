# SPDX-License-Identifier: Apache-2.0
"""embed.py OUT FILE...: writes C++ with the text of each FILE as a constant named builtin_<stem>."""

import sys
from pathlib import Path

out, *files = (Path(argument) for argument in sys.argv[1:])
lines = ['#include "builtins/builtin_families.h"', "", "namespace ze_cpu {"]
for file in files:
    lines.append(f'const char builtin_{file.stem}[] = R"opencl({file.read_text()})opencl";')
lines += ["} // namespace ze_cpu", ""]
out.write_text("\n".join(lines))
