"""What `make demo` prints: which ranker is better, whether that is real, why, and what is lost where."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OLD, NEW = "demo/out/fields.run", "demo/out/reranked.run"


def run(*arguments: str, first: int | None = None) -> None:
    """Show a command, then run it, or show the first lines of what it prints."""
    print(f"\n$ rankgauge {' '.join(arguments)}", flush=True)
    done = subprocess.run(
        [sys.executable, "-m", "rankgauge", *arguments], check=True, cwd=HERE.parent, capture_output=True, text=True
    )
    print("".join(f"{line}\n" for line in done.stdout.splitlines()[:first]), end="", flush=True)


def main() -> None:
    """One story: a reranker on top of a full-text search."""
    print("A shop of 360 products, 60 queries, 912 graded judgments. Does reranking help, and is that real?")
    run("compare", "demo/qrels.txt", OLD, NEW)
    print("Why did q50 get worse?", end="")
    run("explain", "demo/qrels.txt", OLD, NEW, "--worst", "1", "--documents", "demo/catalogue.jsonl", first=7)
    print("What does the retriever lose, what the reranker? Which segments gain? One page has it all:", end="")
    about = ("--by", "demo/queries.tsv:segment", "--queries", "demo/queries.tsv", "--documents", "demo/catalogue.jsonl")
    run("report", "demo/qrels.txt", OLD, NEW, "--retrieved", OLD, *about, "-o", "demo/out/report.html")
    print("Open demo/out/report.html in a browser.")


if __name__ == "__main__":
    main()
