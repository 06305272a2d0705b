"""Docstrings, comments, messages, pages and names of tests use standard technical English."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
ALLOWED = tomllib.loads((Path(__file__).parent / "wording.toml").read_text())["allowed"]
"""Exceptions: file, text around the phrase, and reason."""

PHRASES = {
    r"foretold|foretells?": "predicted",
    r"anew|again and again": "again; repeatedly",
    r"untried": "untested",
    r"askew": "misaligned",
    r"mended|mends": "repaired",
    r"by (?:itself|themselves)": "automatically, on its own, independently",
    r"unless given|(?:if|when|where) left out": "defaults to; if omitted",
    r"(?:is|are|was|were|be) left out|leaves? out|leaving out": "omitted, ignored",
    r"(?:engines?|codes?) of others": "third-party engine, external code",
    r"of (?:your|a user's|the user's|users'|one's) own|own (?:joint|code)": "custom",
    r"(?:is|are|was|were|be|been|being) told": "is reported, is warned, receives, reads",
    r"(?:is|are) booked|booked work|energy books|(?:its|their|the) books": "energy balance, ledger, accounted for",
    r"(?:goes|go|going|went) on|(?:comes?|came) to rest": "continues, resumes from; settles",
    r"(?:a|no|any) whole (?:numbers?|multiples?) of|whole numbers? of": "an integer multiple of",
    r"refus(?:e|es|ed|ing|als?)": "reject, rejected",
    r"(?:what|all that) acts": "forces and actuators; components",
    r"the looks of|looks only": "visual, appearance",
    r"(?:one|once|twice|idea) an? (?:file|step|tick|world|run|body|joint|period)": "one per, once per",
    r"(?:tables?|pages?) made (?:of|from)": "generated from",
    r"hears?|heard": "receives, last received",
    r"(?:lost|frozen|stuck) worlds?|worlds? (?:is|are|was|were) (?:lost|frozen|stuck)": "diverged worlds",
    r"(?:has|have) a name": "is named",
    r"faults?(?!:)": "errors, problems",
    r"says? (?:what|which|how|who|where|when|whether|so|that|it|nothing)": "states, reports, specifies",
    r"told apart|tells? apart": "distinguished",
    r"endless": "infinite, unbounded",
    r"let it end in": "use the suffix",
    r"as of `": "as for, see",
}
"""Phrases, and what to write instead."""
WRONG = re.compile("|".join(rf"\b(?:{p})(?!\w)".replace(" ", r"\s+") for p in PHRASES), re.IGNORECASE)
TEXT = re.compile(r'"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|#[^\n]*', re.DOTALL)
"""Strings and comments of Python; a parser would need seconds for all files."""
START = re.compile(r'"""(?:What|Whether|How|Where|Why|When|Which|Who)\b')
DOCUMENTATION = re.compile(r'"""(?:\\.|[^\\])*?"""|#[^\n]*', re.DOTALL)
"""Docstrings and comments: strings in tests may contain anything."""
TEST = re.compile(r"def (test_\w+)")
NAMES = re.compile(r"\b(?:GiveWay|Watered|OwnJoint|starts_anew|words_of|_slips|THROWN|in_parts)\b")
CODE = re.compile(r"^```.*?^```|`[^`\n]+`|\{[^{}\n]*\}", re.MULTILINE | re.DOTALL)
"""Code in pages and docstrings, and fields of messages."""


def files() -> Iterator[Path]:
    yield from (ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md"))
    yield from (ROOT / "docs").rglob("*.md")
    for part in ("src", "benchmarks", "tests"):
        yield from (file for file in (ROOT / part).rglob("*.py") if file != Path(__file__))


def prose(file: Path, text: str) -> str:
    """Text of a file without code; adjacent strings and comments are joined, so that a phrase over two lines is found."""
    if file.suffix == ".md":
        return CODE.sub(" ", text)
    of_test = file.is_relative_to(ROOT / "tests")
    found = DOCUMENTATION.findall(text) if of_test else TEXT.findall(text)
    words = [s if START.match(s) else s.strip("\"'# \n") for s in found if s.count(" ") > 1 or s[:3] == '"""']
    words += [name.replace("_", " ") + "." for name in TEST.findall(text)] if of_test else []
    return CODE.sub("`", " ".join(words))


def hits() -> Iterator[tuple[str, str, str]]:
    """File, phrase and the text around it."""
    for file in files():
        source = file.read_text(encoding="utf-8")
        words = prose(file, source)
        for pattern, text in ((WRONG, words), (START, words), (NAMES, source)):
            for found in pattern.finditer(text):
                around = text[max(0, found.start() - 60) : found.end() + 60]
                yield str(file.relative_to(ROOT)), found[0], " ".join(around.split())


def test_phrases_of_the_wording_guide_do_not_return():
    found, used = [], set()
    for file, phrase, around in hits():
        allowed = {i for i, a in enumerate(ALLOWED) if a["file"] == file and a["text"] in around}
        used |= allowed
        if not allowed:
            found.append(f"{file}: {phrase!r} in: {around}")
    assert not found, "write in standard technical English, or allow it in wording.toml:\n" + "\n".join(found)
    assert not [a for i, a in enumerate(ALLOWED) if i not in used], "wording.toml has entries without a hit; remove them"


def test_phrases_are_found():
    """In docstrings, messages over two lines and comments; not in code."""
    source = '"""What it does."""\nraise ValueError(\n    "the run goes "\n    "on to the end"\n)  # starts anew\nx = faults  # as `faults`\n'
    text = prose(Path("a.py"), source)
    assert [" ".join(m[0].split()) for m in WRONG.finditer(text)] == ["goes on", "anew"] and START.search(text)
