"""What `make demo` prints: the loop on the bundled shop, from a log to a report, and where to look next."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
TWO = ("compare", "demo/qrels.txt", "demo/out/fields.run", "demo/out/reranked.run")


def run(*arguments: str) -> None:
    """Show a command, then run it: what it does and what came of it, in one stream."""
    print(f"$ rankgauge {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, "-m", "rankgauge", *arguments], check=True, cwd=HERE.parent, stderr=sys.stdout)


def main() -> None:
    """The whole loop; without the word vectors that its dense system needs, the comparison of two runs."""
    if not all(map(find_spec, ("safetensors", "tokenizers", "wordllama"))):
        print("The word vectors of the demo are not installed; here is a comparison of two stored runs.")
        run(*TWO)
        return
    print("A shop of 360 products, and a log of searches. Which search is best? Says who?\n")
    run("loop", "demo")
    print("\nOpen demo/out/loop.html in a browser. Next, with people's judgments:")
    print(f"rankgauge {' '.join(TWO)}")


if __name__ == "__main__":
    main()
