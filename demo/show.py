"""What `make demo` prints: the three rankers measured, and what to try next. (Run demo/rankers.py first.)"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
RUNS = [f"demo/out/{name}.run" for name in ("title", "fields", "reranked")]


def run(*arguments: str) -> None:
    """Show a command, then run it."""
    quoted = (f'"{a}"' if set(a) & set("() *") else a for a in arguments)
    print(f"\n$ rankgauge {' '.join(quoted)}\n", flush=True)
    subprocess.run([sys.executable, "-m", "rankgauge", *arguments], check=True, cwd=HERE.parent)


def main() -> None:
    """Five commands and a list."""
    print("A shop of 360 products, 60 queries, 912 graded judgments, three rankers over SQLite's FTS5.", flush=True)
    run("eval", "demo/qrels.txt", *RUNS, "-m", "nDCG@10", "-m", "R@50", "-m", "RR", "-m", "nDCG(gain=exp)@10")
    run("eval", "demo/qrels.txt", RUNS[2], "-m", "nDCG@10", "-m", "P@5", "--by", "demo/queries.tsv:segment")
    print("\nTwo stages: fields.run finds, two rerankers order what it found anew.", flush=True)
    stages = [f"demo/out/stages/fields+{reranker}.run" for reranker in ("coverage", "signals")]
    run("funnel", "demo/qrels.txt", "--retrieved", "demo/out/fields.run", "--reranked", *stages, "--recall-depth", "50")
    texts = ("--queries", "demo/queries.tsv", "--documents", "demo/catalogue.jsonl")
    run("report", "demo/qrels.txt", *RUNS, "--by", "demo/queries.tsv:segment", *texts, "-o", "demo/out/report.html")
    print("Open demo/out/report.html in a browser: the same and much more, in one file that loads nothing.")
    print(
        "\nTry next (in this folder, with .venv/bin on the path: . .venv/bin/activate):\n"
        "  rankgauge eval demo/qrels.txt demo/out/*.run -m nDCG@10 --per-query --format csv\n"
        "  rankgauge eval demo/qrels.txt demo/out/*.run --unjudged condensed      leave the unjudged documents out\n"
        "  rankgauge eval demo/qrels.txt demo/out/*.run --ties average            be fair to tied scores\n"
        "  rankgauge trec_eval -q -m ndcg_cut.10 demo/qrels.txt demo/out/reranked.run\n"
        "  rankgauge explain demo/qrels.txt demo/out/reranked.run --worst 3       rank by rank, and what would help\n"
        "  rankgauge explain demo/qrels.txt demo/out/reranked.run --query q24 -o q24.html      the same as a picture\n"
        "  rankgauge judgments demo/qrels.txt demo/out/*.run                      what unjudged documents leave open\n"
        "  rankgauge funnel demo/qrels.txt --retrieved demo/out/title.run --retrieved demo/out/fields.run \\\n"
        "    --reranked demo/out/stages/*.run                       two retrievers × two rerankers, each change apart\n"
        "  rankgauge agree demo/qrels.txt demo/out/model.txt --runs demo/out/*.run      people against a program\n"
        "  rankgauge align demo/made_experiments.csv                              offline beside online, made up\n"
        "  rankgauge measures nDCG                                                formula, parameters, paper\n"
        "  rankgauge eval QRELS RUN                                               your own files"
    )


if __name__ == "__main__":
    main()
