# SPDX-License-Identifier: Apache-2.0
"""`python -m zemm`: the same as zemm-doctor."""

import sys

from zemm.doctor import main

if __name__ == "__main__":
    sys.exit(main())
