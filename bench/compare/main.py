"""Iris measured beside redis-server (and the yardsticks, and RedisBloom, if they are there), in one
run on this machine; writes docs/performance.md and its charts.

  cases.py, bulk.py, ping.py, latency.py, memory.py, threads.py   what is measured
  servers.py, load.py, machine.py                                 what it is measured with
  targets.py, document.py, charts.py, svg.py                      what is told
"""

import argparse
import contextlib
import csv
import dataclasses
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time

import bulk
import cases
import charts
import document
import latency
import load
import machine
import memory
import ping
import servers
import targets
import threads

SOURCE = "docs/performance.md"
QUICK_OUTPUT = "build/bench"
LATENCY_PAIR = (("iris", "BF.EXISTS 10M"), ("redis", "GET"))


def options_of_user():
    parser = argparse.ArgumentParser(prog="script/bench", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, help="of each run, for medians (5)")
    parser.add_argument("--seconds", type=float, help="of each run (1)")
    parser.add_argument("--quick", action="store_true",
                        help=f"one short round, to see that all works; written to {QUICK_OUTPUT}/")
    parser.add_argument("--yardstick", metavar="DIR",
                        help="a folder with floor.cpp and hot.cpp, to measure against")
    parser.add_argument("--output", metavar="DIR", help="where performance.md goes (docs)")
    parser.add_argument("--programs", default="build/release/bin", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rounds is None:
        options.rounds = 1 if options.quick else 5
    if options.seconds is None:
        options.seconds = 0.3 if options.quick else 1
    options.output = options.output or (QUICK_OUTPUT if options.quick else "docs")
    if not 1 <= options.rounds <= 100 or not 0.1 <= options.seconds <= 60:
        parser.error("--rounds: allowed are 1 to 100; --seconds: 0.1 to 60")
    for name in ("floor.cpp", "hot.cpp") if options.yardstick else ():
        if not os.path.exists(f"{options.yardstick}/{name}"):
            parser.error(f"--yardstick: allowed is a folder with floor.cpp and hot.cpp; "
                         f"{name} is not there")
    return options


def start_servers(options, stack, scratch):
    running = {}

    def start(server):
        stack.callback(server.stop)
        running[server.name] = server

    start(servers.iris(f"{options.programs}/iris-server"))
    start(servers.redis())
    if os.environ.get("REDISBLOOM_SO"):
        start(servers.redis(module=os.environ["REDISBLOOM_SO"]))
    if options.yardstick:
        programs = servers.build_yardsticks(options.yardstick, scratch)
        start(servers.floor(programs["floor"], cases.floor_request_bytes()))
        start(servers.hot(programs["hot"]))
    return running


def measure_servers(options, results, calm):
    """All that needs the servers side by side."""
    loadgen = f"{options.programs}/loadgen"
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="iris-bench-"))
        running = start_servers(options, stack, scratch)
        results["items"] = 100_000 if options.quick else 1_000_000
        results["memory"] = memory.measure(running, loadgen, results["items"])
        print("bench: filling", flush=True)
        for server in running.values():
            cases.fill(server, loadgen, options.quick)
        everything = cases.all_cases(running)
        runs = cases.measure(everything, running, loadgen, options.rounds, options.seconds,
                             options.quick, calm)
        medians = {key: load.median(figures) for key, figures in runs.items()}
        results["runs"], results["medians"] = runs, medians
        results["bulk_items"] = 100_000 if options.quick else 1_000_000
        results["bulk"] = bulk.measure(running, 2 * options.rounds, results["bulk_items"])
        pair = [case for case in everything if (case.server, case.label) in LATENCY_PAIR]
        results["latency"], results["rates"] = latency.half_rate(
            loadgen, running, pair, medians, 3 * options.rounds * options.seconds, calm)
        results["curve"] = latency.curve(
            loadgen, running, pair, medians, min(3, options.rounds) * options.seconds, calm)


def measure_accuracy(options, what):
    output = subprocess.run([f"{options.programs}/bloom_accuracy", what], check=True,
                            capture_output=True, text=True, timeout=300).stdout
    return list(csv.DictReader(output.splitlines()))


def measure(options):
    results = {"calm": machine.Calm()}
    iris, rounds = f"{options.programs}/iris-server", options.rounds
    measure_servers(options, results, results["calm"])
    results["ping"] = ping.measure(iris, rounds, 2 * options.seconds, results["calm"])
    results["threads"] = threads.without_sockets(f"{options.programs}/threads_bench", rounds,
                                                 options.seconds, results["calm"])
    results["sockets"] = threads.over_sockets(iris, f"{options.programs}/loadgen", rounds,
                                              options.seconds)
    results["load"] = measure_accuracy(options, "load")
    results["bits"] = measure_accuracy(options, "bits")
    return results


def heading(options, calm, others):
    lines = [
        f"Made by `script/bench --rounds {options.rounds} --seconds {options.seconds:g}` on "
        f"{datetime.date.today()}: {machine.describe()}. Servers have one thread on core "
        f"{servers.SERVER_CORE}, the generator (`bench/loadgen`) is on core "
        f"{servers.GENERATOR_CORE}; 50 connections; medians of the rounds, in which servers and "
        f"commands alternate. {calm.describe()} Other programs, and the host, used "
        f"{100 * others:.0f} % of the machine."
    ]
    if options.quick:
        lines.append("**A quick run: its figures only show that everything works.**")
    elif others > 0.05:
        lines.append("**Others used the machine: these figures are noisy.**")
    return "\n\n".join(lines)


def text_of(options, results, others):
    medians, pipelines = results["medians"], cases.PIPELINES
    bloom = document.redisbloom(medians, pipelines)
    parts = [
        heading(options, results["calm"], others),
        "## Targets",
        "Of server CPU time a request, unless the line says otherwise. Ratios are medians of those "
        "of each round.",
        document.targets("Bloom filters far beyond the cache",
                         targets.hot_path(results["runs"], pipelines)),
        document.targets("Many items, counting, size",
                         targets.other_commands(results["runs"], pipelines) +
                         targets.bulk(results["bulk"], results["bulk_items"])),
        document.targets("Latency", targets.latency(results["latency"])),
        document.targets("PING by redis-benchmark", targets.ping(results["ping"])),
        document.targets("Threads", targets.threads(results["threads"])),
        "## Every command",
        document.commands(medians, pipelines),
        *(["### Beside RedisBloom", bloom] if bloom else []),
        "### Very many items", document.bulk(results["bulk"], results["bulk_items"]),
        "![Throughput by pipeline depth](throughput.svg)",
        "## Latency", document.latency(results["latency"], results["rates"]),
        "![Latency by rate](latency.svg)",
        "## Memory", document.memory(results["memory"], results["items"]),
        "![Bits an item](bits.svg)",
        "![False positives by load](false_positives.svg)",
        "## Threads", document.threads(results["threads"], results["sockets"]),
        "![Throughput by threads](threads.svg)",
        "## PING by redis-benchmark",
        "The same tool for both, one thread each, nothing pinned.",
        document.ping(results["ping"]),
    ]
    return "\n\n".join(parts)


def write(options, results, others):
    os.makedirs(options.output, exist_ok=True)
    drawings = {
        "throughput": charts.throughput(results["medians"], cases.PIPELINES),
        "latency": charts.latency(results["curve"]),
        "threads": charts.threads(results["threads"], results["sockets"]),
        "false_positives": charts.false_positives(results["load"]),
        "bits": charts.bits(results["bits"]),
    }
    for name, drawing in drawings.items():
        with open(f"{options.output}/{name}.svg", "w", encoding="utf-8") as file:
            file.write(drawing)
    document.replace_part(SOURCE, f"{options.output}/performance.md",
                          text_of(options, results, others))


def save_raw(results):
    """For whoever wants to look closer."""
    os.makedirs(QUICK_OUTPUT, exist_ok=True)
    by_text = {name: {" | ".join(map(str, key)): value for key, value in results[name].items()}
               for name in ("runs", "medians", "bulk")}
    with open(f"{QUICK_OUTPUT}/results.json", "w", encoding="utf-8") as file:
        json.dump({**results, **by_text}, file, indent=1, default=dataclasses.asdict)


def main():
    options = options_of_user()
    started = time.monotonic()
    others = machine.OthersShare()
    results = measure(options)
    save_raw(results)
    write(options, results, others.share())
    minutes = (time.monotonic() - started) / 60
    print(f"bench: {minutes:.1f} minutes; written to {options.output}/performance.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
