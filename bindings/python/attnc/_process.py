"""Threads and forks of the process.

A signal's handler runs in the main thread, between Python's instructions, so
it cannot end a call of C. Calls that may take seconds therefore run in another
thread, while the main thread waits and stays open to Ctrl-C.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from queue import SimpleQueue

    from attnc._native import Native

T = TypeVar("T")

# Held by a call that compiles, and during a fork: a lock of the C library that
# another thread holds would stay locked in the child.
compiling = threading.RLock()
natives: WeakSet[Native] = WeakSet()
forks = 0  # number of forks between the first process and this one
_workers: WeakSet[Worker] = WeakSet()


def _in_child() -> None:
    global forks
    forks += 1
    try:
        for native in list(natives):
            native.after_fork()
    finally:
        compiling.release()


os.register_at_fork(before=compiling.acquire,
                    after_in_parent=compiling.release,
                    after_in_child=_in_child)


class Worker:
    """Runs work(worker) in a thread of its own.

    What it puts, its result and its exception go through a queue. The thread
    looks at `stopped` between tokens.
    """

    def __init__(self, work: Callable[[Worker], Any]) -> None:
        from queue import SimpleQueue
        self.stopped = False
        self._work = work
        self._queue: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._forks = forks
        # An interpreter that ends does not wait for it: _stop_all() does.
        self.thread = threading.Thread(target=self._run, daemon=True,
                                       name="attnc")
        _workers.add(self)
        try:
            self.thread.start()
        except BaseException:
            self.stopped = True
            raise

    def _run(self) -> None:
        try:
            self._queue.put(("end", self._work(self)))
        except BaseException as error:
            self._queue.put(("error", error))

    def put(self, item: Any) -> None:
        self._queue.put(("item", item))

    def next(self) -> tuple[str, Any]:
        """Waits for ("item", item) or ("end", result)."""
        if self._forks != forks:
            raise RuntimeError("this answer was begun in another process")
        try:
            kind, value = self._queue.get()
        except BaseException:
            self.stopped = True
            raise
        if kind == "error":
            try:
                raise value
            finally:
                del value  # its traceback holds this frame
        return kind, value


def interruptible(work: Callable[[Worker | None], T]) -> T:
    """Returns work(worker), and lets the main thread be interrupted."""
    if threading.current_thread() is not threading.main_thread():
        return work(None)
    return Worker(work).next()[1]  # type: ignore[no-any-return]


def stream(work: Callable[[Worker], Any]) -> Iterator[Any]:
    """Yields what work(worker) puts. The thread starts with the first item."""
    worker = Worker(work)
    try:
        while True:
            kind, item = worker.next()
            if kind == "end":
                return
            yield item
    finally:
        worker.stopped = True


@atexit.register
def _stop_all() -> None:
    until = time.monotonic() + 2.0
    workers = list(_workers)
    for worker in workers:
        worker.stopped = True
    for worker in workers:
        if worker.thread.ident:
            worker.thread.join(max(0.0, until - time.monotonic()))
