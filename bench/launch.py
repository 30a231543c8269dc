"""Run one command and report its exit code, wall seconds and peak memory in kilobytes.

    python -I -S launch.py TIMEOUT_SECONDS STDOUT_FILE STDERR_FILE COMMAND [ARGUMENT ...]

A process starts with the memory peak of the process that spawned it, so the commands are spawned from this small
one and not from the harness. Prints ``exit_code seconds peak_kilobytes timed_out``.
"""

import os
import signal
import sys
import time
from types import FrameType


def main() -> None:
    """Spawn the command named on the command line, wait for it, print what it took."""
    timeout, out, err, *command = sys.argv[1:]
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    redirects = [(os.POSIX_SPAWN_OPEN, 1, out, flags, 0o644), (os.POSIX_SPAWN_OPEN, 2, err, flags, 0o644)]
    timed_out = False
    # Installed packages have their bytecode beside them, which an editable one may only have if Python may write it.
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    process = os.posix_spawnp(command[0], command, surroundings, file_actions=redirects)

    def give_up(_signal: int, _frame: FrameType | None) -> None:
        nonlocal timed_out
        timed_out = True
        os.kill(process, signal.SIGKILL)

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, float(timeout))
    _, status, usage = os.wait4(process, 0)
    seconds = time.perf_counter() - started
    signal.setitimer(signal.ITIMER_REAL, 0)
    kilobytes = usage.ru_maxrss // (1024 if sys.platform == "darwin" else 1)
    print(os.waitstatus_to_exitcode(status), seconds, kilobytes, int(timed_out))


if __name__ == "__main__":
    main()
