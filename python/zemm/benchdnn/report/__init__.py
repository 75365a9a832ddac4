# SPDX-License-Identifier: Apache-2.0
"""The lines, tables, files and pages that a run gives."""
