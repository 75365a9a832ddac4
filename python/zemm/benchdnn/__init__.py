# SPDX-License-Identifier: Apache-2.0
"""zemm-benchdnn: runs, checks and times matmuls that are described in the syntax of oneDNN's
benchdnn. CONTRIBUTING.md lists its rooms.
"""
