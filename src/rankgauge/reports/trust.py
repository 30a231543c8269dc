"""Sections on how far the numbers can be trusted: warnings, judged shares, ties, checks, rules, the command."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from rankgauge import __version__
from rankgauge.comparison.doubts import doubts_of_answers, doubts_of_pairs, doubts_of_results
from rankgauge.errors import Doubt, counted
from rankgauge.measures.bands.bands import is_text
from rankgauge.measures.bands.notes import mean_ends
from rankgauge.reports.found import open_doubts
from rankgauge.show.model import Block, Bullets, Code, Column, Mark, Table, Text, capital
from rankgauge.validation.labels import FAMILY as LIKE
from rankgauge.validation.labels import JUDGES, UNFIT

if TYPE_CHECKING:
    from rankgauge.reports.facts import Facts
    from rankgauge.result import Result
    from rankgauge.validation.validate import Finding

__all__ = ["Caution", "cautions", "checks", "judged", "reproduce", "rules", "ties"]

EXACT: Final = 2_000  # queries, up to which the expectation over orders of equal scores is worked out
NAMED: Final = 3  # systems or files that a warning names
UNANSWERED: Final = "RG302"
# Cautions that can turn a decision, the gravest first; the others follow in the order in which they are found.
TURNING: Final = (
    *UNFIT, "unjudged", "fixed-list", "random-per-search", "adjusted", "sample-lacking", "sample-ignored",
    "tie-band", "unanswered", "judged-unequal", "few-queries", "few-differences", "skewed",
)  # fmt: skip
SAMPLE: Final = frozenset({"fixed-list", "random-per-search", "sample-lacking"})  # codes that are about all queries
# Code of a doubt → the section that has the evidence, where that is not the one about pairs.
EVIDENCE: Final = {
    "tie-band": "ties", "judged-unequal": "judged", "dropped-queries": "every-query", "sample-ignored": "systems",
    **dict.fromkeys(SAMPLE, "sample"), **dict.fromkeys((*JUDGES, LIKE), "checks"),
}  # fmt: skip
# Codes that are about every pair of the family.
FAMILY: Final = SAMPLE | {"sample-ignored", "few-flips", "unequal-variances", *JUDGES, LIKE}
SEVERITY: Final = {"error": "bad", "warning": "warn", "note": "quiet"}


class Caution(NamedTuple):
    """What could change the reading of a report, and the section that has the evidence."""

    code: str
    text: str
    section: str
    decisive: bool = True  # whether it is about the two systems of the verdict, and the measure


def cautions(facts: Facts) -> list[Caution]:
    """What to be careful about; what could turn the decision comes first."""
    found = [Caution("unjudged", text, "open") for text in open_doubts(facts)]
    doubts = facts.comparison.warnings if facts.comparison is not None else facts.results.doubts
    found += [*_doubts(facts, [each for each in doubts if each.code != "unanswered"])]  # which is told apart below
    if facts.comparison is None and len(facts.results) > 1:
        text = "systems are shown without intervals, tests and verdicts, which need two queries or clusters"
        found.append(Caution("no-test", text, "systems"))
    found += [*_unanswered(facts)]
    wide = [note for note in facts.results.ties if note.startswith("Caution")]
    if not any(each.code == "tie-band" for each in doubts):
        decisive = facts.versus is None  # what could undo a difference is a tie-band
        found += [Caution("ties", note.removeprefix("Caution, ties: "), "ties", decisive) for note in wide]
    errors = sum(1 for finding in facts.findings or [] if finding.kind.severity == "error")
    if errors:
        found.append(Caution("errors", f"the checks of the files found {counted(errors, 'error')}", "checks"))
    found += [Caution(code, text, "checks") for code, text in _warned(facts)]
    places = {code: place for place, code in enumerate(TURNING)}
    return sorted(found, key=lambda each: (not each.decisive, places.get(each.code, len(TURNING))))


def _doubts(facts: Facts, doubts: Sequence[Doubt]) -> Iterator[Caution]:
    """What the comparison doubts: first of the two systems of the verdict, then of all the others."""
    decisive: list[Doubt] = []
    if facts.comparison is not None and facts.versus is not None:
        decisive += doubts_of_pairs(facts.comparison.first.values, [facts.versus])
        decisive += doubts_of_results(facts.results, facts.results.first.measure(facts.measure), [facts.versus])
    for each in dict.fromkeys([*decisive, *doubts]):
        said = each in decisive or each.code in FAMILY
        yield Caution(each.code, each.text, EVIDENCE.get(each.code, "pairs"), said)


def _unanswered(facts: Facts) -> Iterator[Caution]:
    """Who left queries unanswered that count 0: first of the two systems of the verdict, then of all the others."""
    measure = facts.results.first.measure(facts.measure)
    for decisive in (True, False):
        some = {name: result for name, result in facts.results.items() if (name in facts.focus) is decisive}
        for doubt in doubts_of_answers(some, measure, least=0.0):
            yield Caution(doubt.code, doubt.text, "judged", decisive)


def _warned(facts: Facts) -> Iterator[tuple[str, str]]:
    """The code and the words of the checks' warnings; `_unanswered` tells of unanswered queries, checks or not."""
    found: dict[str, list[Finding]] = {}
    for finding in facts.findings or []:
        if finding.kind.severity == "warning" and finding.code != UNANSWERED:
            found.setdefault(finding.code, []).append(finding)
    for code, each in found.items():
        names = list(dict.fromkeys(finding.source for finding in each))
        where = ", ".join(names[:NAMED]) + (f" and {len(names) - NAMED:,} more" if len(names) > NAMED else "")
        effect = next((f": {finding.effect}" for finding in each if finding.effect), "")
        yield code, f"{each[0].kind.title} ({where}){effect}"


def judged(facts: Facts) -> Iterator[Block]:
    """The share of judged documents at every cut-off in use, and what became of the queries."""
    results = facts.results
    cutoffs = list(next(iter(results.values())).judged)
    columns = [Column("system"), *(Column(f"Judged@{k}", "share", 1) for k in cutoffs)]
    columns += [Column("queries", "count"), Column("answered", "count"), Column("missing", "count")]
    columns += [Column("without relevant", "count"), Column("not judged, left out", "count")]
    columns += [Column("documents a query", "number", 1)]
    rows = [[name, *(result.judged[k] for k in cutoffs), *_counts(result)] for name, result in results.items()]
    note = (
        "Judged@k: the share of the first k documents of answered queries that somebody judged. What is not judged "
        "counts as not relevant, which is hard on a system that finds what others did not."
    )
    yield Table("judged", "Judged shares and queries", columns, rows, notes=[note])


def _counts(result: Result) -> list[Any]:
    counts, answered = result.counts, result.hits.retrieved[result.hits.retrieved > 0]
    found = [counts[name] for name in ("answered", "missing", "without_relevant", "unjudged")]
    return [result.evaluated, *found, float(answered.mean()) if len(answered) else None]


def ties(facts: Facts) -> Iterator[Block]:
    """What other orders of equal scores would make of every mean."""
    columns = [Column("system"), Column("measure"), Column("value", "number"), Column("smallest", "number")]
    columns += [Column("expected", "number"), Column("largest", "number"), Column("width", "number")]
    rows = [row for result in facts.results.values() for row in _bands(result) if row[-1]]
    note = (
        "Smallest and largest are what some order of equal scores gives, expected is the mean over all orders. A wide "
        "band means that the files do not say which document comes first."
    )
    if not rows:
        yield Text("No order of equal scores would change any of the means.")
        return
    yield Table("ties", "Tie bands", columns, rows, notes=[note])


def _bands(result: Result) -> Iterator[list[Any]]:
    for measure in result.measures:
        if is_text(measure):
            continue
        if len(result.query_ids) <= EXACT:
            band = result.ties(measure).mean
            value, low, expected, high = band.value, band.low, band.expected, band.high
        else:
            (low, high), value, expected = mean_ends(result, measure), result[measure], None
        yield [result.name, str(measure), value, low, expected, high, high - low]


def checks(facts: Facts) -> Iterator[Block]:
    """How far the judges were found to agree with people, and what `validate` found in the files."""
    judges = facts.results.first.judgments
    known = judges.stored.get("checks", ()) if judges is not None else ()
    yield from [Bullets(known, title="Judges")] if known else []
    findings = facts.findings
    if findings is None:
        notes = facts.results.checks
        yield Text(f"Only the quick checks were made: {facts.unchecked.rstrip('.')}.", "note")
        yield Text("rankgauge validate looks at every line.", "note")
        yield Bullets(notes) if notes else Text("The quick checks found nothing.")
        return
    if not findings:
        yield Text("Nothing odd was found in the judgments and the runs.")
        return
    columns = [Column("severity"), Column("code"), Column("file"), Column("finding"), Column("count", "count")]
    columns += [Column("effect"), Column("what to do"), Column("first example")]
    rows = [
        [
            *(Mark(each.kind.severity, SEVERITY[each.kind.severity]), each.code, each.source, each.kind.title),
            *(each.count, each.effect, each.kind.remedy, next(iter(each.examples), "")),
        ]
        for each in findings
    ]
    yield Table("checks", "What the checks found", columns, rows, search=len(rows) > 8)


def rules(facts: Facts) -> Iterator[Block]:
    """How every number came about: definitions, rules, and hashes that tell whether two reports are comparable."""
    first = next(iter(facts.results.values()))
    yield Bullets([f"{measure}: {words}" for measure, words in first.definitions.items()])
    yield Bullets([f"{capital(line)}." for line in first.protocol.describe().split("\n")])
    rows: list[list[Any]] = [["judgments", first.fingerprints["judgments"]], ["rules", first.fingerprints["protocol"]]]
    rows += [[f"system {name}", result.fingerprint] for name, result in facts.results.items()]
    note = "Reports whose judgments and rules have the same fingerprints may be compared with each other."
    yield Table("fingerprints", "Fingerprints", [Column("what"), Column("fingerprint")], rows, sort=False, notes=[note])


def reproduce(facts: Facts) -> Iterator[Block]:
    """The command."""
    if facts.wanted.command:
        yield Code(facts.wanted.command)
    yield Text(f"Made by rankgauge {__version__}. The same files and the same command give the same report.", "note")
