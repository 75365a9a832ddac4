# SPDX-License-Identifier: Apache-2.0
"""zemm-tune: measures which kernel, and which cut, is the fastest on this machine for a list of
problems, and writes a file that the library reads where ZEMM_TUNING names it."""
