# SPDX-License-Identifier: Apache-2.0
"""zemm-benchdnn: runs, checks and times matmuls that are described in the syntax of oneDNN's
benchdnn.

Its stages and their modules: command line (cli, expand, batch), cases (case), library objects
(build, buffers), data (ranges, fill), run (run, execution; in several processes: processes, worker),
expected values (reference), comparison (compare), output (report, perf).
"""
