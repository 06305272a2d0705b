"""Draw block_methods.png: error against wall time of block methods (thesis Fig. 14).

python docs/pictures/make_block_methods.py
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for benchmarks

from benchmarks.block_study import BENCHMARK, arms, measure_blocks, plot_blocks, runners, time_to


def main() -> None:
    """Measure, print a table, draw."""
    results = measure_blocks(runners(arms()), print)
    for name, rows in results.items():
        print(f"{name:32s} {1e3 * time_to(rows, BENCHMARK):7.3f} ms to {BENCHMARK:g}")
    path = Path(__file__).with_name("block_methods.png")
    plot_blocks(results, path)
    print(path)


if __name__ == "__main__":
    main()
