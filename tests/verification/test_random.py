"""Counter-based random numbers: published vectors of Philox, the distribution, and the same bits in NumPy, machine code and C."""

import ctypes
import shutil
import subprocess

import mpmath
import numpy as np
import pytest
from scipy import stats

from hydromechs import compiler
from hydromechs.compiler import Argument, Compiled, Recipe, SourceFile, SourceFunction, c_source, trace
from hydromechs.compiler._random import DEGREE, PARTS, Draw, philox, quantile_table, stream_number

VECTORS = [  # known answers of Random123 (Salmon et al. 2011) for philox4x32-10: counter, key, result
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize("counter, key, result", VECTORS)
def test_philox_reproduces_published_vectors(counter, key, result):
    assert philox(words(counter), words(key)).tolist() == words(result)


def test_quantile_table_is_the_normal_quantile_function():
    """Each polynomial inverts erfc to 2e-12, the truncation error of degree 5 on 1/16 of an octave, by 30-digit arithmetic."""
    table, rng = quantile_table(), np.random.default_rng(3)
    with mpmath.workdps(30):
        for row in rng.choice(len(table), 150, replace=False):
            k, j = divmod(int(row), PARTS)
            for s in rng.uniform(-0.5, 0.5, 3):
                p = mpmath.mpf(2) ** -(k + 2) * (1 + (j + mpmath.mpf(0.5) + mpmath.mpf(s)) / PARTS)
                y = np.polynomial.polynomial.polyval(s, table[row, : DEGREE + 1])
                density = mpmath.exp(-(mpmath.mpf(y) ** 2) / 2) / mpmath.sqrt(2 * mpmath.pi)
                assert abs((mpmath.erfc(y / mpmath.sqrt(2)) / 2 - p) / density) < 2e-12


def numbers(normal=True, lanes=1, worlds=40_000, n=5, seed=2**40 + 77):
    """Compiled draws of many worlds, shape (worlds, n), and the inputs."""

    def function(seed, world, tick):
        return compiler.draw(n, seed[()], world[()], "imu.noise", tick[()], normal=normal)

    inputs = tuple(Argument(name, ()) for name in ("seed", "world", "tick"))
    code = Compiled(Recipe("draws", function, inputs, (Argument("x", (n,)),), None), lanes, 1)
    given = np.full(worlds, float(seed)), np.arange(worlds, dtype=float), np.arange(worlds, dtype=float)[::-1] * 7.0
    return np.asarray(code([*given])[0]), given


@pytest.mark.parametrize("normal", [True, False])
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_machine_code_and_numpy_give_the_same_bits(normal, lanes):
    got, (seed, world, tick) = numbers(normal, lanes, worlds=203)
    stream = stream_number("imu.noise")
    want = [Draw(5, normal)(*row)[0] for row in zip(seed, world, np.full(203, float(stream)), tick, strict=True)]
    assert got.tobytes() == np.array(want).tobytes()


def test_numbers_follow_their_distributions():
    """Kolmogorov-Smirnov at 200,000 numbers, moments to five standard errors, no correlation between neighbours."""
    x = numbers(True, 8)[0].ravel()
    assert stats.kstest(x, "norm").pvalue > 1e-4
    assert stats.kstest(numbers(False, 8)[0].ravel(), "uniform").pvalue > 1e-4
    n = len(x)
    assert abs(x.mean()) < 5 / np.sqrt(n) and abs(x.var() - 1) < 5 * np.sqrt(2 / n)
    assert abs(stats.kurtosis(x)) < 5 * np.sqrt(24 / n)
    for lag in (1, 2, 5):
        assert abs(np.mean(x[lag:] * x[:-lag])) < 5 / np.sqrt(n)


def test_numbers_depend_on_seed_world_stream_and_tick_only():
    base = dict(seed=5, world=3, stream=11, tick=9)
    first = Draw(6)(**base)[0]
    assert np.array_equal(Draw(4)(**base)[0], first[:4])  # how many are drawn does not matter
    for name in base:
        assert not np.intersect1d(Draw(6)(**base | {name: base[name] + 1})[0], first).size


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc on this machine")
@pytest.mark.parametrize("options", [["-O0"], ["-O3", "-march=native", "-ffp-contract=fast"]], ids=["plain", "fused"])
def test_exported_c_gives_the_same_bits(options, tmp_path):
    """Also where the compiler fuses products and sums."""

    def function(seed, world, tick):
        x = compiler.draw(5, seed[()], world[()], "imu.noise", tick[()])
        return np.concatenate([x, compiler.draw(2, seed[()], world[()], "imu.dropout", tick[()], normal=False)])

    program = trace(function, {"seed": (), "world": (), "tick": ()}, name="draws", outputs=("x",))
    file = SourceFile("draws", [SourceFunction(program, "Draws.", {})])
    (tmp_path / "draws.h").write_text(compiler.c_header(file))
    (tmp_path / "draws.c").write_text(c_source(file))
    command = ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", *options, "-shared", "-fPIC"]
    subprocess.run([*command, tmp_path / "draws.c", "-lm", "-o", tmp_path / "draws.so"], check=True)
    shared = ctypes.CDLL(str(tmp_path / "draws.so"))
    for world in range(50):
        given = [np.array(float(x)) for x in (2**40 + 77, world, 13 * world)]
        out = np.zeros(7)
        shared.draws_draws(*(ctypes.c_void_p(x.ctypes.data) for x in (*given, out)))
        assert out.tobytes() == program(*given)[0].tobytes()
