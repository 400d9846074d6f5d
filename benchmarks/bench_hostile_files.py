"""Looks at thousands of damaged files: cut, with bytes changed, headers exchanged; what crashes, lingers or grows?

    python -m benchmarks hostile_files           (2,000 files, fixed seeds; `--rounds N` for another number)

A crash that the walls caught is still counted: it is a file of which no more than `it ended the reader` can be said.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from benchmarks.measuring import ROOT, arguments, report, summary, target

sys.path.insert(0, str(ROOT / "tests" / "unit"))

import hostile_files
import profile_files

from engine.bootstrap import make_profiler
from engine.data.profiler import profile_file
from engine.errors import EngineError

TRACES = ("ended the reader", "of memory to be looked at", "seconds, so looking")


def overhead(profiler: object, folder: Path) -> list[dict[str, object]]:
    """Measure a small file looked at here and behind the walls, by turns, with time between as people leave."""
    path = profile_files.write(folder / "small.csv", hostile_files.TABLE)
    here, there = [], []
    profile_file(path)
    for _ in range(25):
        for look, times in ((lambda: profile_file(path), here), (lambda: profiler.look([path]), there)):
            time.sleep(0.2)
            began = time.perf_counter()
            look()
            times.append(1000 * (time.perf_counter() - began))
    return [summary("one small table, in this process", here, unit="ms"),
            summary("the same in a process of its own", there, unit="ms")]  # fmt: skip


def main() -> None:
    options = arguments(__doc__, rounds=2000)
    profiler = make_profiler()
    found: Counter[str] = Counter()
    seconds: list[float] = []
    vague: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        profiler.warm()
        rows = overhead(profiler, folder)
        originals = hostile_files.seeds(folder)
        for seed in range(options.rounds):
            file, content = hostile_files.damaged(seed, originals)
            path = profile_files.write(folder / file, content)
            began = time.perf_counter()
            try:
                (profile,) = profiler.look([path])
            except EngineError as error:
                found["refused as a path"] += 1
                text = error.message
            except Exception as error:  # noqa: BLE001 - what is counted
                found["tracebacks"] += 1
                text = repr(error)
                print(f"seed {seed} {file}: {text[:200]}")
            else:
                text = " ".join(profile.warnings)
                found["usable" if profile.types else "one sentence"] += 1
            seconds.append(time.perf_counter() - began)
            for key, words in zip(("crashes", "over 2 GB", "over 20 s"), TRACES, strict=True):
                if words in text:
                    found[key] += 1
                    print(f"seed {seed} {file}: {text[:200]}")
            if "could not be understood" in text:
                vague[text.split("(", 1)[1][:70]] += 1
            path.unlink()
    profiler.close()
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    rows.append(summary("a damaged file", [1000 * s for s in seconds], unit="ms"))
    bad = [target(key, found[key], 0) for key in ("crashes", "over 20 s", "over 2 GB", "tracebacks")]
    bad += [target("longest", max(seconds), 20.0, unit=" s"), target("peak of memory", peak, 2048, unit=" MB")]
    counts = ", ".join(f"{count:,} {key}" for key, count in found.most_common())
    notes = [f"{options.rounds:,} files: {counts}."]
    notes += [f"{count} in vague words: {text}" for text, count in vague.most_common(8)]
    report("hostile_files", rows, bad, notes, files=options.rounds, found=dict(found))


if __name__ == "__main__":
    main()
