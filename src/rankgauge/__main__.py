"""The command `rankgauge`, and `python -m rankgauge`."""

import gc
import sys

__all__ = ["main"]

YOUNG = 20_000  # objects made, after which Python looks for garbage: nearly all of them last as long as a command does


def main() -> None:
    """Run the command; Ctrl-C is no fault, not while its modules are still being read either."""
    gc.set_threshold(YOUNG)
    try:
        from rankgauge.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
    finally:
        gc.freeze()  # the process ends: what is left is not looked through for garbage, three times over


if __name__ == "__main__":
    main()
