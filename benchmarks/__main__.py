"""Runs every benchmark, each in a process of its own so that none profits from what another has loaded.

    python -m benchmarks [--rounds N] [--seed N] [--list] [NAME ...]

NAME is a benchmark without `bench_`, for example `airway`. Each prints a table and writes benchmarks/results/NAME.json.
A missed target is reported, not an error: the exit code is 1 only when a benchmark could not be run.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

from benchmarks.measuring import RESULTS, ROOT


def main() -> int:
    """Run the benchmarks asked for and return the exit code."""
    known = {path.stem.removeprefix("bench_"): path for path in sorted((ROOT / "benchmarks").glob("bench_*.py"))}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one of {', '.join(known)}; all when none is given")
    parser.add_argument("--rounds", type=int, help="repeats of each measurement; each benchmark has its own default")
    parser.add_argument("--seed", type=int, help="other worlds than those that were looked at; for `tournament`")
    parser.add_argument("--list", action="store_true", help="list the benchmarks and stop")
    options = parser.parse_args()
    if options.list:
        print("\n".join(known))
        return 0
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"there is no benchmark {unknown[0]!r}; there are: {', '.join(known)}")
    extra = ["--rounds", str(options.rounds)] if options.rounds else []
    extra += ["--seed", str(options.seed)] if options.seed is not None else []
    # The scripts import `engine` and `benchmarks` from this folder, whatever folder they are started from.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    broken: list[str] = []
    for name in options.names or known:
        print(f"\n== {name} ==", flush=True)
        began = time.perf_counter()
        code = subprocess.call([sys.executable, str(known[name]), *extra], cwd=ROOT, env=environment)
        if code:
            broken.append(name)
            print(f"{name} could not be measured (exit code {code}).", file=sys.stderr)
        print(f"({time.perf_counter() - began:.0f} s)", flush=True)
    print(f"\nJSON files are in {RESULTS.relative_to(ROOT)}/")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
