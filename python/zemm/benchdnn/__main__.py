# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.benchdnn`."""

import sys

from zemm.benchdnn.cli import main

if __name__ == "__main__":
    sys.exit(main())
