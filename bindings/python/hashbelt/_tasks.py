# SPDX-License-Identifier: LGPL-2.1-or-later
"""The thread, the task of asyncio, or the greenlet of gevent or eventlet that runs now."""

import asyncio
import ctypes
import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

T = TypeVar("T")

# gevent and eventlet replace the functions of the module threading that name a thread.
_gettid: Final = ctypes.CDLL(None).gettid
_gettid.argtypes = ()

# The number of a task or a greenlet. Another one never gets it, as it may get its address.
_known: "Final[weakref.WeakKeyDictionary[Any, int]]" = weakref.WeakKeyDictionary()
_numbers: Final = itertools.count(1)


def current_thread() -> int:
    """The number that the system has given to this thread."""
    return int(_gettid())


def current_task() -> int:
    """A number of the task or the greenlet that runs in this thread, or 0 if there is none.

    Raises RuntimeError for a greenlet in a task: which of the two runs now is not known.
    """
    found: Any = None
    try:
        found = asyncio.current_task()
    except RuntimeError:
        pass
    get_greenlet = getattr(sys.modules.get("greenlet"), "getcurrent", None)
    if get_greenlet is not None:
        greenlet = get_greenlet()
        # That of the thread itself has no parent.
        if greenlet.parent is not None:
            if found is not None:
                raise RuntimeError("a greenlet runs in a task of asyncio here: pass owner=")
            found = greenlet
    if found is None:
        return 0
    number = _known.get(found)
    if number is None:
        number = _known[found] = next(_numbers)
    return number


async def wait_in_thread(wait: Callable[[], T], undo: Callable[[T], None]) -> T:
    """The result of a function that waits in a thread of its own, while the event loop runs.

    A pool of threads would be full of those that wait for its members. If the task is cancelled, or
    the event loop has ended, undo is called with the result: in the thread, for what runs in the
    event loop may wait for that.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    # Around is_left, and the decision which thread takes care of the result.
    mutex = threading.Lock()
    is_left = False

    def pass_on(results: list[T], error: BaseException | None) -> None:
        if future.done():
            for result in results:
                undo(result)
        elif error is not None:
            future.set_exception(error)
        else:
            future.set_result(results[0])

    def run() -> None:
        results: list[T] = []
        failed: BaseException | None = None
        try:
            results.append(wait())
        except Exception as error:  # pylint: disable=broad-except
            failed = error
        with mutex:
            try:
                if not is_left:
                    loop.call_soon_threadsafe(pass_on, results, failed)
                    return
            except RuntimeError:
                pass    # the event loop is closed
        for result in results:
            undo(result)

    threading.Thread(target=run, name="hashbelt-wait", daemon=True).start()
    try:
        return await future
    except BaseException:
        with mutex:
            is_left = True
        # The task may have been cancelled after the result had come.
        if future.done() and not future.cancelled() and future.exception() is None:
            undo(future.result())
        raise
