# SPDX-License-Identifier: Apache-2.0
"""Parts that several of zemm's programs share: their errors, child processes, files and pictures."""
