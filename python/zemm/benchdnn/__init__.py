# SPDX-License-Identifier: Apache-2.0
"""zemm-benchdnn: runs, checks and times matmuls that are described in the syntax of oneDNN's
benchdnn.

Its stages and their modules: command line (cli, expand, batch), cases (case, verify), library objects
(build, create, buffers), data (tensors, ranges, fill, sparse, files), run (run, execution, timing; in
several processes: processes, worker), expected values (reference), comparison (compare), output
(report, summary, perf).
"""
