# SPDX-License-Identifier: Apache-2.0
import sys

from zemm.isa.cli import main

sys.exit(main())
