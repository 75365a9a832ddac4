# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.tune`."""

import sys

from zemm.tune.cli import main

if __name__ == "__main__":
    sys.exit(main())
