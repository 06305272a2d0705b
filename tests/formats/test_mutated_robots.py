"""Robot descriptions with random changes give a model or a `ModelError` with lines, never another error."""

import random
import re
import warnings

import pytest

import hydromechs as hm
from hydromechs.formats import loads_robot

from .test_sdf import NESTED, ROV, WORLD
from .test_urdf import ARM

BAD = ["", "nan", "inf", "-1", "1e400", "x", "0", "0 0 0", "1e-300", "'", "<", "&amp;", "world", "1e30", "__model__", "a::b"]


def mutated(text, rng):
    """The text with one to three changes: a word, an element left out or doubled, some characters cut."""
    for _ in range(rng.randint(1, 3)):
        words = list(re.finditer(r"[-\w.:]+", text))
        elements = list(re.finditer(r"<(\w+)[^<>]*/>|<(\w+)[^<>]*>[^<>]*</\2>", text))
        word, kind = rng.choice(words), rng.random()
        if kind < 0.7:
            new = rng.choice(BAD) if kind < 0.5 else rng.choice(words).group()
            text = text[: word.start()] + new + text[word.end() :]
        elif kind < 0.9 and elements:
            element = rng.choice(elements)
            text = text[: element.start()] + element.group() * rng.choice([0, 2]) + text[element.end() :]
        else:
            at = rng.randrange(len(text))
            text = text[:at] + text[at + rng.randint(1, 20) :]
    return text


@pytest.mark.parametrize("text", [ARM, ROV, WORLD, NESTED], ids=["arm", "rov", "world", "nested"])
def test_mutated_files_give_a_model_or_a_named_error(text):
    rng = random.Random(4)
    read = 0
    for _ in range(75):
        changed = mutated(text, rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                read += loads_robot(changed, "changed").model.nb > 0
            except hm.ModelError as error:
                assert all(fault.line is not None for fault in error.faults), error
    assert 0 < read < 75
