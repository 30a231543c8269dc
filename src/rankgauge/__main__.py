"""The command `rankgauge`, and `python -m rankgauge`."""

import _thread
import atexit
import contextlib
import gc
import os
import sys
import time
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

__all__ = ["main"]

MAIN = _thread.get_ident()  # the thread that runs the command
SOON = 0.01  # seconds
TIDYING = 1.0  # seconds for exit handlers, where one may wait for a thread that never returns
YOUNG = 100_000  # objects made, after which Python looks for garbage: nearly all of them last as long as a command does
ROOM = 1 << 15  # places on the stack of calls, for all calls of a command


def main() -> NoReturn:
    """Run the command; Ctrl-C is no fault, not while its modules are still being read either."""
    gc.set_threshold(YOUNG)
    sys.unraisablehook = _unraisable
    try:
        from rankgauge.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        _leave(130)
    except SystemExit as end:
        _leave(end.code)
    raise AssertionError("unreachable: a command ends by leaving")


# Python keeps calls in pieces of memory, takes a new one for the call that has no room, and gives it back when that
# returns. Imports that happen to lie at the end of a piece do so hundreds of times (5 ms; seen in CPython 3.11): the
# piece that has room for this function has room for all that it calls.
main.__code__ = main.__code__.replace(co_stacksize=ROOM)


def _unraisable(lost: "UnraisableHookArgs") -> None:
    """Ctrl-C that meets Python in a callback which cannot raise, as where an object ends, would be lost: it comes again
    from a thread, when the callback is over."""
    if lost.exc_type is KeyboardInterrupt and not sys.is_finalizing():
        _thread.start_new_thread(_interrupt, ())
    else:
        sys.__unraisablehook__(lost)


def _interrupt() -> None:
    import signal

    time.sleep(SOON)
    if sys.platform == "win32":
        _thread.interrupt_main()
    else:  # which wakes what waits, too
        signal.pthread_kill(MAIN, signal.SIGINT)


def _leave(code: object) -> NoReturn:
    """End the process; what is left of it is not taken apart, object by object, before the system takes it all."""
    gc.freeze()
    workers = sys.modules.get("rankgauge.systems.workers")
    if isinstance(code, int) and workers is not None and workers.left_behind():
        _leave_behind(code)
    alone = _thread._count() == 0 and "sqlite3" not in sys.modules  # whose files Python closes
    watched = sys.getprofile() or sys.gettrace() or sys.flags.inspect  # somebody has something to say afterwards
    if alone and not watched and isinstance(code, int):
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            sys.exit(code)  # which knows what to do about a stream that takes nothing
        os._exit(code)
    sys.exit(code)  # type: ignore[arg-type]


def _leave_behind(code: int) -> NoReturn:
    """End the process although a thread of it never returns: neither Python nor an exit handler in C waits for it."""
    import threading

    tidying = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
    tidying.start()
    tidying.join(TIDYING)
    with contextlib.suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    main()
