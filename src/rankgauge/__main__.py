"""The command `rankgauge`, and `python -m rankgauge`."""

import atexit
import gc
import os
import sys
import threading
from typing import NoReturn

__all__ = ["main"]

YOUNG = 100_000  # objects made, after which Python looks for garbage: nearly all of them last as long as a command does


def main() -> NoReturn:
    """Run the command; Ctrl-C is no fault, not while its modules are still being read either."""
    gc.set_threshold(YOUNG)
    try:
        from rankgauge.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        _leave(130)
    except SystemExit as end:
        _leave(end.code)
    raise AssertionError("unreachable: a command ends by leaving")


def _leave(code: object) -> NoReturn:
    """End the process; what is left of it is not taken apart, object by object, before the system takes it all."""
    gc.freeze()
    alone = threading.active_count() == 1 and "sqlite3" not in sys.modules  # whose files Python closes
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


if __name__ == "__main__":
    main()
