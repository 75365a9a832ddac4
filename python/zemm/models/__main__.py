# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm.models`."""

import sys

from zemm.models.cli import main

if __name__ == "__main__":
    sys.exit(main())
