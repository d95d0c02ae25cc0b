"""Change points by apache-otava, in an environment of its own: run by its Python with series on standard input.

Reads a JSON list of lists of numbers, and writes for each the places of its change points.
"""

import json
import sys


def main() -> None:
    from otava.analysis import compute_change_points

    found = []
    for values in json.load(sys.stdin):
        points, _ = compute_change_points(values, window_len=50, max_pvalue=0.001, min_magnitude=0.01)
        found.append([int(point.index) for point in points])
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
