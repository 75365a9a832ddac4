# SPDX-License-Identifier: Apache-2.0
"""Benchdnn-style driver of zemm's matmul: case lines and case files in, one checked line per case out.

Stages, one file each: command line (cli, expand, batch) -> cases (case) -> device objects (build, buffers)
-> data (ranges, fill) -> run -> expected values (reference) -> verdict (compare) -> output (report, perf).
"""
