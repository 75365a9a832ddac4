# SPDX-License-Identifier: Apache-2.0
"""A process of this Python at the other end of a connection."""

import signal
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import Pipe

_EXIT_SECONDS = 10


class Child:
    """Runs `serve(descriptor)` of a module, which answers on the connection of that file descriptor, until
    the connection is closed. env: the variables of the process; None: those of this one."""

    def __init__(self, module: str, env: Mapping[str, str] | None = None) -> None:
        self.link, theirs = Pipe()
        code = f"import sys; sys.path[:] = {sys.path!r}; from {module} import serve; serve({theirs.fileno()})"
        # In a session of its own it does not get the Ctrl-C of a terminal.
        self._process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()], start_new_session=True, env=env,
        )  # fmt: skip
        theirs.close()

    def end(self) -> str:
        """Wait for the end of a process that has closed its connection. Returns the cause."""
        try:
            code = self._process.wait(_EXIT_SECONDS)
        except subprocess.TimeoutExpired:
            code = 0
        self.kill()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.link.close()
        self._process.kill()
        self._process.wait()
