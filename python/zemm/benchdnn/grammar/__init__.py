# SPDX-License-Identifier: Apache-2.0
"""The words of benchdnn's command line and case files, and the cases that they describe."""
