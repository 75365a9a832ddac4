# SPDX-License-Identifier: Apache-2.0
"""Locks that survive fork(). All locks of the package are of this kind."""

import os
import threading
from weakref import WeakSet

_all: "WeakSet[Lock]" = WeakSet()


class Lock:
    """A lock that is free in a child of fork(). The thread that held it in the parent does not exist
    there, so nobody would release it.

        with lock.current:
            ...

    What the lock guards must be usable at any moment, because the child gets a copy of it as the
    thread of the parent left it.
    """

    def __init__(self) -> None:
        self.current = threading.Lock()
        _all.add(self)


def _renew() -> None:
    for lock in list(_all):
        lock.current = threading.Lock()


os.register_at_fork(after_in_child=_renew)
