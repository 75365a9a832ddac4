# SPDX-License-Identifier: Apache-2.0
"""Runs cases on zemm, checks them and times them, beside peers if wanted."""
