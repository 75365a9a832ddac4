# SPDX-License-Identifier: Apache-2.0
"""Problems that cover every type, layout class and flag of the matmul kernels."""

from support_case_lines import problems

PROBLEMS = problems("kernels")
