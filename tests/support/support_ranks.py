# SPDX-License-Identifier: Apache-2.0
"""Runs a program in several processes that work together by torch.distributed, as torchrun does."""

import os
import socket
import subprocess
import sys
from pathlib import Path


def outputs(program: str, folder: Path, ranks: int) -> list[str]:
    """What the processes print. They get the folder, and meet on 127.0.0.1."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    common = {"GLOO_SOCKET_IFNAME": "lo", "MASTER_ADDR": "127.0.0.1", "OMP_NUM_THREADS": "1"}
    common |= {"MASTER_PORT": str(port), "WORLD_SIZE": str(ranks)}
    files = [(folder / f"output{rank}").open("w+") for rank in range(ranks)]
    processes = [
        subprocess.Popen(
            [sys.executable, program, str(folder)],
            env={**os.environ, **common, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stdout=file,
            stderr=subprocess.STDOUT,
        )
        for rank, file in enumerate(files)
    ]
    try:
        for process in processes:
            process.wait(timeout=300)
    finally:
        for process in processes:
            process.kill()
    return [Path(file.name).read_text() for file in files]
