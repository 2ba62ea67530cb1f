"""Writes factorial.json: campaigns of factors with their effects by statsmodels and their intervals by SciPy.

Each block's logarithms are fitted by ordinary least squares on factors coded -1/2 and 1/2 and, where the design can tell them,
on products of two; the coefficient of a factor is its contrast. Over the blocks, SciPy gives mean and interval. An interaction's
coefficient is half of what both bring beyond the product, since the product of two halves is a quarter.

    python3 -m venv venv && venv/bin/pip install numpy scipy statsmodels
    venv/bin/python reports/tests/vectors/factorial.py
"""

import itertools
import json
import pathlib

import numpy
import scipy
import scipy.stats
import statsmodels
import statsmodels.api

random = numpy.random.default_rng(20261201)


def rows(letters, generators=None):
    basic = letters if generators is None else letters[: len(letters) - len(generators)]
    for number in range(2 ** len(basic)):
        on = {letter for n, letter in enumerate(basic) if number >> n & 1}
        for letter, word in (generators or {}).items():
            if sum(other in on for other in word) % 2:
                on.add(letter)
        yield "".join(letter for letter in letters if letter in on)


def plackett_burman(letters):
    signs = "++-+++---+-"
    yield ""
    for shift in range(11):
        yield "".join(l for n, l in enumerate(letters) if signs[(n - shift) % 11] == "+")


def case(name, letters, combinations, interactions, blocks, truth):
    combinations = list(combinations)
    code = numpy.array([[0.5 if letter in row else -0.5 for letter in letters] for row in combinations])
    pairs = [(letters.index(a), letters.index(b)) for a, b in interactions]
    columns = numpy.column_stack([code] + [2 * code[:, a] * code[:, b] for a, b in pairs])
    means = numpy.array([numpy.log(10) + truth(row) for row in combinations])
    logarithms = means + random.normal(0, 0.03, (blocks, 1)) + random.normal(0, 0.02, (blocks, len(means)))
    gbps = numpy.exp(logarithms)
    fits = [statsmodels.api.OLS(y, statsmodels.api.add_constant(columns)).fit() for y in numpy.log(gbps)]
    contrasts = numpy.array([fit.params[1:] for fit in fits])
    contrasts[:, len(letters) :] *= 2
    names = list(letters) + [f"{a} x {b}" for a, b in interactions]
    effects = []
    for column, term in enumerate(names):
        test = scipy.stats.ttest_1samp(contrasts[:, column], 0)
        interval = test.confidence_interval(0.95)
        effects.append(
            {
                "term": term,
                "contrasts": contrasts[:, column].tolist(),
                "change": float(numpy.expm1(contrasts[:, column].mean())),
                "low": float(numpy.expm1(interval.low)),
                "high": float(numpy.expm1(interval.high)),
            }
        )
    return {"name": name, "letters": letters, "rows": combinations, "gbps": gbps.tolist(), "effects": effects}


def all_pairs(letters):
    return list(itertools.combinations(letters, 2))


cases = [
    case("all of three", "abc", rows("abc"), all_pairs("abc"), 8,
         lambda row: 0.1 * ("a" in row) - 0.05 * ("c" in row) + 0.04 * ("a" in row and "b" in row)),
    case("half of four", "abcd", rows("abcd", {"d": "abc"}), [("a", "b"), ("a", "c"), ("a", "d")], 7,
         lambda row: 0.08 * ("d" in row)),
    case("a quarter of six", "abcdef", rows("abcdef", {"e": "abc", "f": "bcd"}), [], 6,
         lambda row: -0.06 * ("e" in row) + 0.02 * ("b" in row)),
    case("twelve of eleven", "abcdefghijk", plackett_burman("abcdefghijk"), [], 9,
         lambda row: 0.05 * ("b" in row) - 0.07 * ("j" in row)),
]
versions = {module.__name__: module.__version__ for module in (numpy, scipy, statsmodels)}
target = pathlib.Path(__file__).with_suffix(".json")
target.write_text(json.dumps({"made_by": versions, "cases": cases}, indent=1) + "\n")
