"""What a user of ranx writes to score a TREC run."""

import sys

from ranx import Qrels, Run, evaluate  # type: ignore[import-untyped, import-not-found, unused-ignore]


def main() -> None:
    """Score the run named second against the judgments named first."""
    qrels = Qrels.from_file(sys.argv[1], kind="trec")
    run = Run.from_file(sys.argv[2], kind="trec")
    means = evaluate(qrels, run, ["ndcg@10", "recall@100"])
    print("nDCG@10", means["ndcg@10"])
    print("R@100", means["recall@100"])


if __name__ == "__main__":
    main()
