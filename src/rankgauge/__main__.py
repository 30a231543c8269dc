"""`python -m rankgauge`: the same as the command `rankgauge`."""

from rankgauge.cli import main

if __name__ == "__main__":
    main()
