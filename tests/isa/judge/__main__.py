# SPDX-License-Identifier: Apache-2.0
"""Entry point of `python tests/isa/judge`."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve()
sys.path[:0] = [str(HERE.parents[1]), str(HERE.parents[2] / "support")]

from judge.cli import main  # noqa: E402

sys.exit(main())
