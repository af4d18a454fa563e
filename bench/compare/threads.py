"""What a second thread adds: without sockets (threads_bench), and over them as far as the cores
allow: the generator needs some of them itself."""

import csv
import functools
import os
import statistics
import subprocess

import load
import servers


MIXES = ("BF.EXISTS", "BF.EXISTS and BF.ADD", "BF.ADD",
         "CF.COUNT", "CF.COUNT and CF.INCR", "CF.INCR")  # of threads_bench
# The host moves its guests' cores about: what one of two has written is 30 ns away from the other in
# one second and 170 in the next. So there are more rounds, of shorter runs.
PARTS = 3
SHORTER = 0.5


def without_sockets(program, rounds, seconds, calm):
    """By mix and number of threads: the medians of what threads_bench told in each round."""
    told = {}
    for _ in range(PARTS * rounds):
        for mix in MIXES:
            for row in calm.measure(functools.partial(one_mix, program, SHORTER * seconds, mix)):
                told.setdefault((mix, row["threads"]), []).append(row)
    print("bench: threads without sockets done", flush=True)
    return [{"mix": mix, "threads": threads,
             **{name: statistics.median(float(row[name]) for row in rows)
                for name in ("by_wall", "by_cpu", "wall_ratio", "cpu_ratio")}}
            for (mix, threads), rows in told.items()]


def one_mix(program, seconds, mix):
    output = subprocess.run([program, str(seconds), "1", mix], check=True, capture_output=True,
                            text=True, timeout=300).stdout
    return list(csv.DictReader(output.splitlines()))


def over_sockets(iris_program, loadgen, rounds, seconds):
    """By number of threads: median figures of BF.EXISTS at P=100, nothing pinned."""
    runs = {}
    counts = [n for n in (1, 2, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    for number in range(rounds):
        for threads in counts:
            server = servers.iris(iris_program, threads, pinned=False)
            try:
                server.command("BF.RESERVE", "m", "0.01", 10_000_000)
                load.run(loadgen, server, ["BF.MADD", "m", *["__item__"] * 10], "--sequential",
                         "--requests", 50_000, "--pipeline", 100, pinned=False)
                figures = load.run(
                    loadgen, server, ["BF.EXISTS", "m", "__item__"], "--pipeline", 100,
                    "--items", 1_000_000, "--seconds", seconds, "--seed", number + 1,
                    "--connections", load.CONNECTIONS, "--expect", "integer", pinned=False)
            finally:
                server.stop()
            runs.setdefault(threads, []).append(figures)
    print("bench: threads over sockets done", flush=True)
    return {threads: load.median(figures) for threads, figures in runs.items()}
