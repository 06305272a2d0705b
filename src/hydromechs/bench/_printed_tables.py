"""Tables of operation counts as printed in the papers: multiplications and additions of each pair of columns.

Each line is a quantity with its name and position in the paper. Cells are polynomials of m chains of N joints. The last line is
the printed total.
"""

import re
from fractions import Fraction
from functools import cache
from importlib import resources

MISPRINTS = {
    "1995, sec. V": "Brandl, Johanni and Otter's additions are printed as 220N - 248; 220N - 198 gives the 1122 of the thesis",
    "thesis, sec. 2.5": "Lilly and Orin's formula gives 12373 additions for m = 4, N = 6; 12589 is printed",
    "thesis, sec. 5.4": "the articulated-body star is quoted with 205mN + 66m + 65 additions; Table 16 and ch. 7 have 63m + 68",
    "thesis, Table 16": "m = 1, N = 6 on land is printed with 1359 additions; the formula gives 1361",
    "thesis, Table 24": "additions of K^x are printed as 14; 15 give the total, and agree with the text",
    "thesis, App. B.4": "205N - 247 additions are quoted; Table 30 has 205N - 241, which gives its 989",
}
"""Misprints: counts of the papers that contradict other counts in the same papers."""


def polynomial(text: str, m: int = 1, N: int = 1) -> Fraction:
    """Return the value of a polynomial such as "1/6mNNN-4m+62" at m and N."""
    total = Fraction(0)
    for sign, number, letters in re.findall(r"([+-]?)(\d+(?:/\d+)?)?((?:m|N)*)", text.replace(" ", "")):
        if number or letters:
            total += Fraction(f"{sign}{number or 1}") * m ** letters.count("m") * N ** letters.count("N")
    return total


@cache
def printed_tables() -> dict[str, dict[str, list[str]]]:
    """Return the cells of each row, keyed by table and row name."""
    out: dict[str, dict[str, list[str]]] = {}
    for line in resources.files(__package__).joinpath("printed_tables.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            rows = out.setdefault(line[2:], {})
        elif line:
            name, *cells = (cell.strip() for cell in line.split("|"))
            rows[name] = cells
    return out
