# SPDX-License-Identifier: Apache-2.0
"""The functions of zemm that are no module of their own: zemm.matmul(), zemm.warm(), ..."""
