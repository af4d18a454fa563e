"""What keeping the data costs, beside redis-server in the same run: the log under each policy, the
time of a replay, and a snapshot under load. Prints its tables, and writes them between two marks of
docs/persistence.md.

  script/bench durability [--rounds N] [--seconds S] [--gigabytes G]
"""

import argparse
import dataclasses
import os
import re
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import document
import load
import servers

BEGIN, END = "<!-- script/bench durability begins -->", "<!-- script/bench durability ends -->"
PAGE = "docs/persistence.md"
POLICIES = {"none": ["--appendonly", "no"],
            "everysec": ["--appendonly", "yes", "--appendfsync", "everysec"],
            "always": ["--appendonly", "yes", "--appendfsync", "always"]}
REPLAYED = 5_000_000


def iris(program, extra, directory=None, pinned=False):
    def arguments(port, own):
        return ["--port", str(port), "--dir", directory or own, "--threads", "1", "--loglevel",
                "warning", "--auto-aof-rewrite-percentage", "0", *extra]
    return servers.Server("iris", program, arguments, pinned)


def redis(extra, directory=None, pinned=False):
    def arguments(port, own):
        return ["--port", str(port), "--dir", directory or own, "--save", "", "--loglevel",
                "warning", "--auto-aof-rewrite-percentage", "0", *extra]
    return servers.Server("redis", "redis-server", arguments, pinned)


def sync_floor(program):
    """A server that syncs and does nothing else (bench/sync_floor.cc)."""
    request = "*3\r\n$6\r\nBF.ADD\r\n$1\r\nf\r\n$12\r\n123456789012\r\n"
    return servers.Server("floor", program,
                          lambda port, own: [str(port), str(len(request)), f"{own}/log"])


def policies(options):
    """Requests a second by (server, policy, pipeline): adds of new items, 50 connections. All
    threads of a server have one core and the generator the other: else where the scheduler puts
    them decides more than the server does."""
    runs = {}
    for number in range(options.rounds):
        for policy, extra in POLICIES.items():
            for name in ("iris", "redis", "floor") if policy == "always" else ("iris", "redis"):
                server = (iris(options.iris, extra, pinned=True) if name == "iris"
                          else redis(extra, pinned=True) if name == "redis"
                          else sync_floor(options.floor))
                try:
                    if name == "iris":
                        server.command("BF.RESERVE", "f", "0.01", 20_000_000)
                    words = ["SADD" if name == "redis" else "BF.ADD", "f", "__item__"]
                    # Pages that are used for the first time are not what is measured.
                    load.run(options.loadgen, server, words, "--sequential", "--first", 10**11,
                             "--requests", 100_000, "--pipeline", 100)
                    for pipeline in (1, 16):
                        figures = load.run(
                            options.loadgen, server, words, "--sequential", "--pipeline", pipeline,
                            "--first", (number * 2 + pipeline) * 10_000_000, "--seconds",
                            options.seconds, "--connections", load.CONNECTIONS, "--expect",
                            "integer")
                        runs.setdefault((name, policy, pipeline), []).append(figures)
                finally:
                    server.stop()
        print(f"bench: policies, round {number + 1} of {options.rounds}", flush=True)
    return {key: load.median(figures) for key, figures in runs.items()}


def policies_table(medians):
    rows = []
    for pipeline in (1, 16):
        for policy in POLICIES:
            own, peer = (medians[name, policy, pipeline] for name in ("iris", "redis"))
            base, peer_base = (medians[name, "none", pipeline] for name in ("iris", "redis"))
            floor = medians.get(("floor", policy, pipeline))
            rows.append((str(pipeline), policy, f"{own.per_second:,.0f}",
                         f"{own.per_second / base.per_second:.2f}", f"{own.cpu:.2f}",
                         f"{peer.per_second:,.0f}",
                         f"{peer.per_second / peer_base.per_second:.2f}", f"{peer.cpu:.2f}",
                         f"{own.per_second / peer.per_second:.2f}",
                         f"{floor.per_second:,.0f}" if floor else "",
                         f"{floor.per_second / peer.per_second:.2f}" if floor else ""))
    return document.table(("P", "log", "BF.ADD/s", "of without", "CPU us", "SADD/s of redis-server",
                           "of without", "CPU us", "ratio", "syncs alone/s", "ratio"), rows)


def seconds_to_load(start, *question):
    """Until the data set is there, and the answer to a command then; the server is stopped."""
    begun = time.monotonic()
    server = start()
    try:
        while "loading:1" in server.command("INFO", "persistence"):
            time.sleep(0.02)
        seconds = time.monotonic() - begun
        return seconds, server.command(*question).strip()
    finally:
        server.process.kill()
        server.process.wait()


def replay(options):
    """Seconds to start from a log of REPLAYED adds."""
    result = {}
    for name in ("iris", "redis"):
        extra = ["--appendonly", "yes", "--appendfsync", "no"]
        start = (lambda d=None: iris(options.iris, extra, d)) if name == "iris" else (
            lambda d=None: redis(extra, d))
        server = start()
        try:
            if name == "iris":
                server.command("BF.RESERVE", "f", "0.01", 2 * REPLAYED)
            load.run(options.loadgen, server, ["BF.ADD" if name == "iris" else "SADD", "f",
                                               "__item__"], "--sequential", "--pipeline", 100,
                     "--requests", REPLAYED, pinned=False)
            server.process.terminate()
            server.process.wait(60)
            times = [seconds_to_load(lambda: start(server.directory), "DBSIZE")[0]
                     for _ in range(options.rounds)]
            result[name] = statistics.median(times)
        finally:
            server.stop()
        print(f"bench: replay of {name} done", flush=True)
    return result


class Watch(threading.Thread):
    """The largest resident size of a process tree (a fork's child counts) while it runs."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.peak, self.ended = pid, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.02):
            self.peak = max(self.peak, self.resident())

    def resident(self):
        children = subprocess.run(["pgrep", "-P", str(self.pid)], capture_output=True, text=True,
                                  check=False).stdout.split()
        total = 0
        for pid in [str(self.pid), *children]:
            try:
                # A fork shares its parent's pages: only its private ones are extra.
                with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as rollup:
                    total += int(re.search(r"^Pss:\s+(\d+)", rollup.read(), re.M).group(1)) * 1024
            except (OSError, AttributeError):
                continue
        return total


def drop_from_cache(directory):
    """The files of a directory are read from the disk next time; returns their bytes."""
    total = 0
    for name in os.listdir(directory):
        with open(f"{directory}/{name}", "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            total += os.fstat(file.fileno()).st_size
    return total


def seconds_to_read(directory):
    """Reading the files and doing nothing with them."""
    drop_from_cache(directory)
    begun = time.monotonic()
    for name in os.listdir(directory):
        with open(f"{directory}/{name}", "rb", buffering=0) as file:
            while file.read(1 << 20):
                pass
    return time.monotonic() - begun


@dataclasses.dataclass
class Subject:
    """What is saved: a server, how its big key is made, and what is written meanwhile."""
    label: str
    start: Callable
    make: list
    words: list
    question: list


def subjects(options):
    size = int(options.gigabytes * (1 << 30))

    def own(directory=None):
        return iris(options.iris, POLICIES["everysec"], directory)

    def other(directory=None):
        return redis(POLICIES["none"] + ["--rdbcompression", "no", "--proto-max-bulk-len", "4gb"],
                     directory)

    digest = ["DEBUG", "DIGEST-VALUE", "f"]
    return [
        Subject("Iris, Bloom filter", own,
                ["BF.RESERVE", "f", "0.01", int(size * 8 / 9.93), "NONSCALING"],
                ["BF.ADD", "f", "__item__"], digest),
        Subject("Iris, counting filter", own,
                ["CF.RESERVE", "f", int(size / 5.43), "EXPANSION", 0],
                ["CF.INCR", "f", "__item__"], digest),
        Subject("redis-server, a string", other, ["SETRANGE", "f", size - 1, "x"],
                ["SADD", "s", "__item__"], ["STRLEN", "f"]),
    ]


class Snapshots(threading.Thread):
    """One snapshot after the other until it is told to end; `seconds` are those of each."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.seconds, self.ended = server, [], threading.Event()

    def run(self):
        while not self.ended.is_set():
            begun = time.monotonic()
            self.server.command("BGSAVE")
            while "rdb_bgsave_in_progress:1" in self.server.command("INFO", "persistence"):
                time.sleep(0.05)
            self.seconds.append(time.monotonic() - begun)


@dataclasses.dataclass
class Saved:
    """What was found: seconds of a snapshot, memory before and at most beside it, latencies of the
    writers without and with it, and a start from the files."""
    seconds: float
    before: int
    extra: int
    quiet: load.Figures
    busy: load.Figures
    file_bytes: int
    reading: float
    starting: float
    same: bool


def writers(options, server, subject, number):
    """Latencies of writers at a fixed rate, without snapshots and beside them."""
    def write(seconds):
        return load.run(options.loadgen, server, subject.words, "--rate", 10_000, "--connections",
                        load.CONNECTIONS, "--sequential", "--first", (2 + number) * 10**11,
                        "--seconds", seconds, pinned=False)

    quiet = write(5)
    before = Watch(server.pid).resident()
    watch, snapshots = Watch(server.pid), Snapshots(server)
    watch.start()
    snapshots.start()
    # The same items again: counts above 1, and changes on both sides of the copying.
    busy = write(8)
    for thread in (snapshots, watch):
        thread.ended.set()
        thread.join(600)
    return statistics.median(snapshots.seconds), before, watch.peak - before, quiet, busy


def start_from(subject, server):
    """Ends the server and starts another from its files."""
    state = server.command(*subject.question).strip()
    server.process.terminate()
    server.process.wait(60)
    reading = seconds_to_read(server.directory)
    size = drop_from_cache(server.directory)
    starting, restored = seconds_to_load(lambda: subject.start(server.directory),
                                         *subject.question)
    return size, reading, starting, state == restored


def snapshot(options):
    """Snapshots of one big key under writes, and a start from the last of them. The subjects take
    turns, so that a noisy minute hits all of them."""
    running, runs, result = {}, {}, {}
    try:
        for subject in subjects(options):
            server = running[subject.label] = subject.start()
            server.command(*subject.make)
            if subject.words[1] == "f":  # every page of it is touched before
                load.run(options.loadgen, server, subject.words, "--sequential", "--first", 10**11,
                         "--requests", int(options.gigabytes * 2**19), "--pipeline", 100,
                         pinned=False)
        for number in range(options.rounds):
            for subject in subjects(options):
                run = writers(options, running[subject.label], subject, number)
                runs.setdefault(subject.label, []).append(run)
            print(f"bench: snapshots, round {number + 1} of {options.rounds}", flush=True)
        for subject in subjects(options):
            seconds, before, extra, quiet, busy = zip(*runs[subject.label])
            result[subject.label] = Saved(
                statistics.median(seconds), before[-1], max(extra), load.median(quiet),
                load.median(busy), *start_from(subject, running[subject.label]))
    finally:
        for server in running.values():
            server.stop()
    return result


def snapshot_table(result):
    rows = []
    for label, saved in result.items():
        rows.append((label, f"{saved.seconds:.1f}", f"{saved.before / 2**20:,.0f}",
                     f"{saved.extra / 2**20:,.0f} ({100 * saved.extra / saved.before:.0f} %)",
                     f"{saved.quiet.p999 / 1e3:.2f}", f"{saved.busy.p999 / 1e3:.2f}",
                     f"{saved.busy.p999 / saved.quiet.p999:.1f}", f"{saved.busy.max / 1e3:.1f}"))
    return document.table(("server", "seconds", "memory, MB", "extra, MB", "p99.9 without, ms",
                           "p99.9 beside, ms", "ratio", "max beside, ms"), rows)


def start_table(result):
    rows = []
    for label, saved in result.items():
        megabytes = saved.file_bytes / 2**20
        rows.append((label, f"{megabytes:,.0f}", f"{saved.reading:.2f}", f"{saved.starting:.2f}",
                     f"{megabytes / saved.starting:,.0f}", "yes" if saved.same else "**no**"))
    return document.table(("server", "files, MB", "reading them, s", "start, s", "MB/s",
                           "state as before"), rows)


def main():
    parser = argparse.ArgumentParser(prog="script/bench durability")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--programs", default="build/release/bin", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not 1 <= options.rounds <= 20 or not 0.2 <= options.seconds <= 60 or not (
            0.01 <= options.gigabytes <= 8):
        parser.error("allowed are --rounds 1 to 20, --seconds 0.2 to 60, --gigabytes 0.01 to 8")
    options.iris = f"{options.programs}/iris-server"
    options.loadgen = f"{options.programs}/loadgen"
    options.floor = f"{options.programs}/sync_floor"
    medians = policies(options)
    times = replay(options)
    saved = snapshot(options)
    text = "\n\n".join([
        f"Made by `script/bench durability --rounds {options.rounds} --seconds "
        f"{options.seconds:g} --gigabytes {options.gigabytes:g}`; one worker, medians of the "
        "rounds.",
        "Adds of new items, 50 connections, by policy; the server on one core, the generator on "
        "the other. \"Syncs alone\" is a program that parses nothing and has no filters: it writes "
        "and syncs as many bytes as Iris would, and answers (`bench/sync_floor.cc`).",
        policies_table(medians),
        f"Starting from a log of {REPLAYED:,} adds: Iris {times['iris']:.2f} s, redis-server "
        f"(SADD of the same items) {times['redis']:.2f} s, ratio "
        f"{times['iris'] / times['redis']:.2f}.",
        f"Snapshots of {options.gigabytes:g} GB, one after the other, under 10,000 writes a second "
        "(Iris with a log, `everysec`; nothing pinned); redis-server has one string of that size, "
        "saves it uncompressed and has no log:",
        snapshot_table(saved),
        "A start from these files, which are dropped from the kernel's cache before; beside it "
        "reading the same files alone. Iris is asked for its filter's digest before and after, "
        "redis-server for the length of its string:",
        start_table(saved),
    ])
    print(text)
    document.replace_part(PAGE, PAGE, text, (BEGIN, END))


if __name__ == "__main__":
    sys.exit(main())
