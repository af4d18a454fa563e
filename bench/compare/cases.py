"""The commands that are measured, on which server, and what has to be there before.

Filters are filled to a half (or 20 million items) first, since memory that was never written is one
page of zeros that every cache holds. Items are then drawn uniformly from as many as the filter is
made for: about half of the lookups find something, and adds never overfill. Each run of a command that
changes a filter begins with the filter as it was filled, for Iris a copy of it, and the prototype is
filled anew: else adds would soon change nothing, while counts grow and grow, and what is measured would
depend on how long it is. (RedisBloom's filters go on from run to run.)
"""

import dataclasses
import functools
import time

import load

ITEM, TEN = ["__item__"], ["__item__"] * 10
# The prototype hot.cpp has the keys f and s; all names have one length, so that requests do too.
BLOOM = {"10k": ("s", 10_000), "10M": ("m", 10_000_000), "100M": ("f", 100_000_000)}
COUNTING = ("c", 10_000_000)
MOST_FILLED = 20_000_000
KEYS = 1_000_000  # of GET and SET, and members of the set
BITS = 100_000_000  # of the bitmap that is used; SETBIT takes no leading zeros, hence --first

PIPELINES = (1, 16, 100)
# At P=1 nearly all of the time is the kernel's, which takes a third more for seconds at a time,
# whoever asks: as many more runs, as much shorter, so that both sides of a ratio meet the same.
PARTS = {1: 3, 16: 1, 100: 1}
# What is compared lies side by side in time: a minute later the machine may be another.
ORDER = ("GET", "BF.EXISTS 10k", "BF.EXISTS 10M", "CF.COUNT 10M", "BF.EXISTS 100M", "any",
         "BF.ADD 100M", "BF.ADD 10M", "CF.INCR 10M", "BF.ADD 10k", "PING", "BF.MADD of 10",
         "BF.MEXISTS of 10")
SETTLING_SECONDS = 0.05  # the filter that a copy has replaced is freed meanwhile


@dataclasses.dataclass(frozen=True)
class Case:
    """One command on one server."""

    server: str
    label: str
    words: tuple
    expect: str
    options: tuple = ()
    changes: bool = False  # the filter words[1]


def bloom_cases(server, sizes, full=True):
    cases = []
    for size in sizes:
        key, capacity = BLOOM[size]
        items = ("--items", capacity)
        cases += [
            Case(server, f"BF.EXISTS {size}", ("BF.EXISTS", key, *ITEM), "integer", items),
            Case(server, f"BF.ADD {size}", ("BF.ADD", key, *ITEM), "integer", items, True),
        ]
    key, capacity = BLOOM["100M"]
    items = ("--items", capacity)
    if full:
        cases += [
            Case(server, "BF.MEXISTS of 10", ("BF.MEXISTS", key, *TEN), "array", items),
            Case(server, "BF.MADD of 10", ("BF.MADD", key, *TEN), "array", items, True),
        ]
    return cases


def counting_cases(server):
    key, capacity = COUNTING
    items = ("--items", capacity)
    cases = [Case(server, "CF.COUNT 10M", ("CF.COUNT", key, *ITEM), "integer", items)]
    if server == "iris":  # a cuckoo filter has no increments
        cases.append(Case(server, "CF.INCR 10M", ("CF.INCR", key, *ITEM), "integer", items, True))
    return cases


def redis_cases():
    keys = ("--items", KEYS)
    bits = ("--item-bytes", 9, "--first", BITS, "--items", BITS)
    return [
        Case("redis", "GET", ("GET", "__item__"), "bulk", keys),
        Case("redis", "SET", ("SET", "__item__", "123456789012"), "simple", keys),
        Case("redis", "SISMEMBER", ("SISMEMBER", "set", *ITEM), "integer", keys),
        Case("redis", "SADD", ("SADD", "set", *ITEM), "integer", keys),
        Case("redis", "GETBIT", ("GETBIT", "bits", *ITEM), "integer", bits),
        Case("redis", "SETBIT", ("SETBIT", "bits", *ITEM, "1"), "integer", bits),
    ]


def all_cases(names):
    """Of the servers that are there."""
    cases = [Case(name, "PING", ("PING",), "simple") for name in names if name != "floor"]
    if "floor" in names:
        cases.append(Case("floor", "any", ("BF.EXISTS", "f", *ITEM), "integer"))
    for name in names:
        if name in ("iris", "redisbloom"):
            cases += bloom_cases(name, BLOOM) + counting_cases(name)
    if "hot" in names:
        cases += bloom_cases("hot", ("10k", "100M"))
    place = {label: number for number, label in enumerate(ORDER)}
    return sorted(cases + redis_cases(), key=lambda case: place.get(case.label, len(ORDER)))


def floor_request_bytes():
    return len("*3\r\n$9\r\nBF.EXISTS\r\n$1\r\nf\r\n$12\r\n123456789012\r\n")


def as_filled(key):
    return key + ":filled"


def fill(server, loadgen, quick):
    """Makes and fills what the cases of this server need."""
    most = 200_000 if quick else MOST_FILLED

    def add(words, items, *options):
        requests = max(1, items // sum(word == "__item__" for word in words))
        load.run(loadgen, server, words, "--sequential", "--requests", requests,
                 "--pipeline", 100, *options)

    if server.name in ("iris", "redisbloom"):
        for key, capacity in BLOOM.values():
            server.command("BF.RESERVE", key, "0.01", capacity)
        server.command("CF.RESERVE", COUNTING[0], COUNTING[1])
        add(["CF.INSERT", COUNTING[0], "ITEMS", *TEN], min(COUNTING[1] // 2, most))
    if server.name in ("iris", "redisbloom", "hot"):
        for size in BLOOM if server.name != "hot" else ("10k", "100M"):
            key, capacity = BLOOM[size]
            add(["BF.MADD", key, *TEN], min(capacity // 2, most))
    if server.name == "iris":
        for key in (COUNTING[0], *(key for key, _ in BLOOM.values())):
            server.command("COPY", key, as_filled(key))
    if server.name == "redis":
        add(["SET", "__item__", "123456789012"], KEYS // 10 if quick else KEYS)
        add(["SADD", "set", "__item__"], KEYS // 2)
        server.command("SETBIT", "bits", 2 * BITS - 1, 1)


def as_it_was_filled(server, key, loadgen, quick):
    if server.name == "iris":
        server.command("COPY", as_filled(key), key, "REPLACE")
        time.sleep(SETTLING_SECONDS)
    elif server.name == "hot":
        server.restart()
        fill(server, loadgen, quick)


def measure(cases, running, loadgen, rounds, seconds, quick, calm):
    """The figures of each round by (server, label, pipeline). Servers and commands alternate within
    each round, so a noisy minute hits all of them."""

    def prepare(case):
        if case.changes:
            as_it_was_filled(running[case.server], case.words[1], loadgen, quick)

    runs = {}

    def measure_all(pipeline, run_seconds, seed):
        for case in cases:
            run = functools.partial(
                load.run, loadgen, running[case.server], case.words, "--pipeline", pipeline,
                "--connections", load.CONNECTIONS, "--seconds", run_seconds, "--seed", seed,
                "--expect", case.expect, *case.options)
            figures = calm.measure(run, functools.partial(prepare, case))
            runs.setdefault((case.server, case.label, pipeline), []).append(figures)

    for number in range(rounds):
        for pipeline in PIPELINES:
            parts = PARTS[pipeline]
            for part in range(parts):
                measure_all(pipeline, seconds / parts, number * parts + part + 1)
        print(f"bench: commands, round {number + 1} of {rounds} done", flush=True)
    return runs
