#!/usr/bin/env python3
"""Writes reports/tests/vectors/vectors.json: numbers and what SciPy and statsmodels make of them.

The tests in reports/src/compare/stats/vectors.rs hold the statistics of the comparison to it. Run it again after a change of
the numbers below, with the packages named in the file:

    python3 -m venv target/stat-venv && target/stat-venv/bin/pip install numpy scipy statsmodels
    target/stat-venv/bin/python scripts/stat-vectors.py
"""

import json
import math
import pathlib

import numpy
import scipy
import statsmodels
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ttost_paired
from statsmodels.tsa.stattools import acf

OUT = pathlib.Path(__file__).parent.parent / "reports/tests/vectors/vectors.json"
MARGIN = 0.02
ALPHA = 0.05
EXACT_SIGN_FLIPS = 14


def signed_rank_interval(d):
    """The shifts that Wilcoxon's exact test does not reject, found by asking it between all neighbouring Walsh averages."""
    walsh = numpy.sort([(a + b) / 2 for i, a in enumerate(d) for b in d[i:]])
    estimate = float(numpy.median(walsh))

    def rejected(shift):
        return stats.wilcoxon(d - shift, method="exact").pvalue < ALPHA

    between = (walsh[:-1] + walsh[1:]) / 2
    kept = [i for i, shift in enumerate(between) if not rejected(shift)]
    if rejected(walsh[0] - 1.0):
        return {"estimate": estimate, "low": float(walsh[kept[0]]), "high": float(walsh[kept[-1] + 1])}
    return {"estimate": estimate, "low": None, "high": None}


def bootstrap(d, seed):
    """BCa from many draws, so that what is left to chance is on our side; the bias and the acceleration by hand."""
    result = stats.bootstrap(
        (d,), numpy.mean, n_resamples=200_000, confidence_level=1 - ALPHA, method="BCa", vectorized=True,
        batch=20_000, rng=numpy.random.default_rng(seed),
    )
    draws = result.bootstrap_distribution
    jackknife = numpy.array([numpy.delete(d, i).mean() for i in range(len(d))])
    off = jackknife.mean() - jackknife
    acceleration = (off**3).sum() / (6 * (off**2).sum() ** 1.5)
    bias = stats.norm.ppf(((draws < d.mean()).mean() + (draws <= d.mean()).mean()) / 2)
    z = stats.norm.ppf([ALPHA / 2, 1 - ALPHA / 2])
    shares = stats.norm.cdf(bias + (bias + z) / (1 - acceleration * (bias + z)))
    rng = numpy.random.default_rng(seed + 1)
    samples = d[rng.integers(0, len(d), size=(200_000, len(d)))]
    t = (samples.mean(1) - d.mean()) / (samples.std(1, ddof=1) / math.sqrt(len(d)))
    error = d.std(ddof=1) / math.sqrt(len(d))
    return {
        "bca_low": float(result.confidence_interval.low),
        "bca_high": float(result.confidence_interval.high),
        "acceleration": float(acceleration),
        "bias": float(bias),
        "share_low": float(shares[0]),
        "share_high": float(shares[1]),
        "studentised_low": float(d.mean() - numpy.quantile(t, 1 - ALPHA / 2) * error),
        "studentised_high": float(d.mean() - numpy.quantile(t, ALPHA / 2) * error),
        "standard_error": float(error),
    }


def sample(name, d):
    d = numpy.round(d, 6)
    n = len(d)
    t = stats.ttest_1samp(d, 0)
    ci = t.confidence_interval(1 - ALPHA)
    narrow = t.confidence_interval(1 - 2 * ALPHA)
    low, high = math.log1p(-MARGIN), math.log1p(MARGIN)
    wins = int((d > 0).sum())
    wilson = proportion_confint(wins, n, alpha=ALPHA, method="wilson")
    permuted = stats.permutation_test(
        (d,), numpy.mean, permutation_type="samples",
        n_resamples=numpy.inf if n <= EXACT_SIGN_FLIPS else 400_000, batch=10_000,
        rng=numpy.random.default_rng(7), vectorized=True,
    )
    return {
        "name": name,
        "d": d.tolist(),
        "mean": float(d.mean()),
        "sd": float(d.std(ddof=1)),
        "t_p": float(t.pvalue),
        "t_low": float(ci.low),
        "t_high": float(ci.high),
        "t90_low": float(narrow.low),
        "t90_high": float(narrow.high),
        "tost_p": float(ttost_paired(d, numpy.zeros(n), low, high)[0]),
        "sign_flip_p": float(permuted.pvalue),
        "signed_rank": signed_rank_interval(d) if n <= 50 else None,
        "lag1": float(acf(d, nlags=1, fft=False)[1]),
        "wilson_share": wins / n,
        "wilson_low": float(wilson[0]),
        "wilson_high": float(wilson[1]),
        "bootstrap": bootstrap(d, n) if n >= 20 else None,
    }


def samples():
    rng = numpy.random.default_rng(20_260)
    yield sample("six", rng.normal(0.01, 0.01, 6))
    yield sample("five, no signed-rank interval", rng.normal(0.01, 0.01, 5))
    yield sample("ten", numpy.array([0.021, -0.004, 0.013, 0.030, 0.008, -0.011, 0.017, 0.025, 0.002, 0.019]))
    yield sample("ten, one wild", numpy.array([0.011, 0.004, 0.013, 0.009, 0.008, -0.001, 0.007, 0.015, 0.002, -0.31]))
    yield sample("fourteen, heavy tails", 0.01 * rng.standard_t(3, 14))
    yield sample("twenty", rng.normal(0.004, 0.01, 20))
    yield sample("thirty, skewed", 0.01 * rng.lognormal(0, 0.7, 30) - 0.011)
    yield sample("forty, heavy tails", 0.005 + 0.01 * rng.standard_t(3, 40))
    autoregressive = [0.0]
    for shock in rng.normal(0, 0.01, 50):
        autoregressive.append(0.6 * autoregressive[-1] + shock)
    yield sample("fifty, autoregressive", numpy.array(autoregressive[1:]))
    yield sample("two hundred", rng.normal(0.001, 0.01, 200))


def families():
    rng = numpy.random.default_rng(5)
    for p in ([0.01, 0.04, 0.03, 0.005], [0.5], [0.2, 0.2, 0.2], numpy.round(rng.uniform(0, 1, 25) ** 3, 6).tolist()):
        yield {
            "p": p,
            "holm": multipletests(p, method="holm")[1].tolist(),
            "benjamini_hochberg": multipletests(p, method="fdr_bh")[1].tolist(),
        }


def ranks():
    for n, q, level in ((6, 0.5, 0.95), (20, 0.5, 0.95), (1_000, 0.99, 0.95), (10_000, 0.999, 0.95), (1_000_000, 0.9999, 0.95), (300, 0.9, 0.9)):
        tail = (1 - level) / 2
        yield {
            "n": n, "quantile": q, "tail": tail,
            "low": int(stats.binom.ppf(tail, n, q)), "high": int(stats.binom.ppf(1 - tail, n, q)) + 1,
        }


def powers():
    for effect in (0.5, 0.75, 1.0, 1.5, 2.0):
        for power in (0.8, 0.9):
            for alpha in (0.05, 0.0125):
                n = TTestPower().solve_power(effect_size=effect, alpha=alpha, power=power, alternative="two-sided")
                yield {"effect_in_sd": effect, "power": power, "alpha": alpha, "pairs": math.ceil(n)}


def steps():
    rng = numpy.random.default_rng(9)
    for name, values in (
        ("none", rng.normal(0, 1, 12)),
        ("half way", numpy.concatenate([rng.normal(0, 1, 6), rng.normal(4, 1, 6)])),
        ("near the end", numpy.concatenate([rng.normal(0, 1, 17), rng.normal(3, 1, 3)])),
    ):
        values = numpy.round(values, 6)
        splits = range(3, len(values) - 2)
        best = min(splits, key=lambda k: stats.ttest_ind(values[:k], values[k:]).pvalue)
        yield {
            "name": name, "values": values.tolist(), "before": best,
            "change": float(values[best:].mean() - values[:best].mean()),
            "p": min(1.0, float(stats.ttest_ind(values[:best], values[best:]).pvalue) * len(splits)),
        }


OUT.parent.mkdir(parents=True, exist_ok=True)
OUT.write_text(
    json.dumps(
        {
            "made_by": "scripts/stat-vectors.py",
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
            "margin": MARGIN,
            "alpha": ALPHA,
            "samples": list(samples()),
            "families": list(families()),
            "ranks": list(ranks()),
            "powers": list(powers()),
            "steps": list(steps()),
        },
        indent=1,
    )
    + "\n"
)
