"""Latency at a fixed rate, BF.EXISTS of Iris beside GET of redis-server: counted from when a
request was due, so that a stall is charged for every request that it delayed."""

import functools

import load

# The host stops a core for a millisecond or two several times a second, and the p99.9 of a longer
# run is the length of such a stop, whoever is asked. Most of these short runs have none, and the
# median of very many tells what the servers do.
SHORT_SECONDS = 0.05
# Of the rate that both servers can keep.
CURVE = (0.1, 0.25, 0.5, 0.7, 0.8, 0.9)


def in_turns(loadgen, running, pair, rates, seconds, calm):
    """Medians by server of runs that take so long in all, at the server's rate."""
    runs = {case.server: [] for case in pair}
    for number in range(round(seconds / SHORT_SECONDS)):
        for case in pair:
            runs[case.server].append(calm.measure(functools.partial(
                load.run, loadgen, running[case.server], case.words,
                "--rate", f"{rates[case.server]:.0f}", "--seconds", SHORT_SECONDS,
                "--connections", load.CONNECTIONS, "--seed", number + 1, "--expect", case.expect,
                *case.options)))
    return {name: load.median(figures) for name, figures in runs.items()}


def half_rate(loadgen, running, pair, medians, seconds, calm):
    """Medians by server, each at half of the most that it reached at P=1, and those rates."""
    rates = {case.server: medians[case.server, case.label, 1].per_second / 2 for case in pair}
    figures = in_turns(loadgen, running, pair, rates, seconds, calm)
    print("bench: latency at half of the maximal rate done", flush=True)
    return figures, rates


def curve(loadgen, running, pair, medians, seconds, calm):
    """By server: (rate, median figures), at the same rates for both."""
    most = min(medians[case.server, case.label, 1].per_second for case in pair)
    points = {case.server: [] for case in pair}
    for share in CURVE:
        rates = dict.fromkeys(points, share * most)
        for name, figures in in_turns(loadgen, running, pair, rates, seconds, calm).items():
            points[name].append((share * most, figures))
    print("bench: latency by rate done", flush=True)
    return points
