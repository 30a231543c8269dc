"""The command `rankgauge`, and `python -m rankgauge`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command; Ctrl-C is no fault, not while its modules are still being read either."""
    try:
        from rankgauge.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
