"""PING by redis-benchmark, Iris and redis-server side by side: the comparison that anyone can
repeat with the tools of Redis alone.

One thread each and no pinning. Runs of the two servers alternate, and the medians of the rounds are
compared.
"""

import functools
import statistics
import subprocess

import servers

PIPELINES = (1, 16, 100)
# About what a second of each depth takes.
REQUESTS_A_SECOND = {1: 80_000, 16: 800_000, 100: 2_500_000}


def run_once(server, pipeline, requests):
    """Microseconds of server CPU per operation, and operations per second."""
    before = server.cpu_seconds()
    output = subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-c", "50"]
        + ["-n", str(requests), "-P", str(pipeline), "-t", "ping_mbulk", "--csv"],
        check=True, capture_output=True, text=True, timeout=300,
    ).stdout
    cpu = server.cpu_seconds() - before
    throughput = float(output.splitlines()[-1].split(",")[1].strip('"'))
    return cpu * 1e6 / requests, throughput


def measure(iris_program, rounds, seconds, calm):
    """By pipeline: the two servers' (CPU us, operations a second)."""
    running, rows = [], {}
    try:
        running.append(servers.iris(iris_program, pinned=False))
        running.append(servers.redis(pinned=False))
        for pipeline in PIPELINES:
            requests = int(seconds * REQUESTS_A_SECOND[pipeline])
            results = {server.name: [] for server in running}
            for _ in range(rounds):
                for server in running:
                    results[server.name].append(
                        calm.measure(functools.partial(run_once, server, pipeline, requests)))
            rows[pipeline] = {
                name: [statistics.median(column) for column in zip(*runs)]
                for name, runs in results.items()
            }
            print(f"bench: PING by redis-benchmark, P={pipeline} done", flush=True)
    finally:
        for server in running:
            server.stop()
    return rows
