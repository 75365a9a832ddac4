# SPDX-License-Identifier: Apache-2.0
"""The state of signals in which the tests' processes begin.

A process inherits from its parent which signals it ignores and which it blocks. nohup, a shell's
background jobs and many CI systems start the tests with some of them ignored.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


def settable() -> set[int]:
    return set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}


@contextmanager
def default_signals() -> Iterator[None]:
    """Inside of this context no signal is blocked, and signals that were ignored have their default action.

    The processes that the context's code starts inherit this state.
    """
    ignored = {number for number in settable() if signal.getsignal(number) == signal.SIG_IGN}
    for number in ignored:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    blocked = signal.pthread_sigmask(signal.SIG_SETMASK, [])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
