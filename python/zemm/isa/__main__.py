# SPDX-License-Identifier: Apache-2.0
"""Entry point of `python -m zemm.isa`."""

import sys

from zemm.isa.cli import main

sys.exit(main())
