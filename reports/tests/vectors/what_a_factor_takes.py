"""Simulates what rules for factors cost: how many sound campaigns are called unstable, how many hold a false claim.

Prints a row for each number of blocks, kind of noise and spread of a contrast in margins; docs/adr/0011 shows the largest of the
kinds. Needs numpy; takes two minutes.
"""

import itertools

import numpy

random = numpy.random.default_rng(1)
CAMPAIGNS, MARGIN, ALPHA = 2_000, 0.02, 0.05


def noise(kind, shape):
    if kind == "normal":
        return random.standard_normal(shape)
    if kind == "t3":
        return random.standard_t(3, shape) / numpy.sqrt(3)
    wild = random.random(shape) < 0.1
    return random.standard_normal(shape) * numpy.where(wild, 5, 1) / numpy.sqrt(0.9 + 0.1 * 25)


def sign_flip(contrasts):
    """Exact two-sided p of each row; p of a pattern and its mirror are the same, so the first sign stays."""
    campaigns, blocks = contrasts.shape
    signs = numpy.array([(1, *rest) for rest in itertools.product((1, -1), repeat=blocks - 1)])
    p = numpy.empty(campaigns)
    for start in range(0, campaigns, 500):
        part = contrasts[start : start + 500]
        p[start : start + 500] = (abs(part @ signs.T) >= abs(part.sum(1))[:, None] - 1e-12).mean(1)
    return p


def holm(p):
    order = numpy.argsort(p, 1)
    steps = numpy.take_along_axis(p, order, 1) * (p.shape[1] - numpy.arange(p.shape[1]))
    adjusted = numpy.empty_like(p)
    numpy.put_along_axis(adjusted, order, numpy.minimum(numpy.maximum.accumulate(steps, 1), 1), 1)
    return adjusted


def simulate(factors, blocks, kind, spread):
    runs = 2**factors
    signs = numpy.array([[2 * (run >> factor & 1) - 1 for factor in range(factors)] for run in range(runs)])
    sd = spread * MARGIN * numpy.sqrt(runs) / 2
    logarithms = sd * noise(kind, (CAMPAIGNS, blocks, runs + 1))
    measured, control = logarithms[:, :, :runs], logarithms[:, :, runs]
    replaced = measured.copy()
    replaced[:, :, 0] = control
    contrasts, again = (2 / runs * values @ signs for values in (measured, replaced))
    p, p_again = (holm(numpy.stack([sign_flip(c[:, :, f]) for f in range(factors)], 1)) for c in (contrasts, again))
    past = (abs(contrasts.mean(1)) > numpy.log1p(MARGIN)) & (p < ALPHA)
    strays = abs((control - measured[:, :, 0]).mean(1))
    as_pairs, as_contrasts = strays > MARGIN / 2, strays > MARGIN / 2 * numpy.sqrt(runs / 2)
    same = numpy.sign(contrasts.mean(1)) == numpy.sign(again.mean(1))
    stable = ~as_contrasts[:, None]
    claims = [past, past & (p_again < ALPHA) & same, past & (p < ALPHA / 5)]
    return [as_pairs.mean(), as_contrasts.mean()] + [(rule & stable).any(1).mean() for rule in claims]


print("factors blocks noise spread | unstable: as pairs, as contrasts | false: control alone, replaced run, fifth of alpha")
for factors, blocks in ((3, 10), (4, 8), (4, 10), (4, 12)):
    for kind in ("normal", "t3", "contaminated"):
        for spread in (0.5, 1, 1.5, 2, 3, 5):
            rates = simulate(factors, blocks, kind, spread)
            print(factors, blocks, kind, spread, *(f"{rate:.4f}" for rate in rates), flush=True)
