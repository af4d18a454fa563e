"""Runs of the load generator, and the medians of several."""

import dataclasses
import json
import statistics
import subprocess
import sys

import servers

CONNECTIONS = 50


@dataclasses.dataclass(frozen=True)
class Figures:
    """What one run found; times in microseconds, CPU times per request."""

    per_second: float
    user: float
    system: float
    p50: float
    p99: float
    p999: float
    max: float

    @property
    def cpu(self):
        return self.user + self.system


def run(program, server, words, *options, pinned=True):
    """One run against the server; ends the whole program if a reply is wrong."""
    command = (servers.pinned_to(servers.GENERATOR_CORE) if pinned else []) + [
        program, "--port", str(server.port), "--pid", str(server.pid), "--json",
        *map(str, options), "--", *words,
    ]
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if result.returncode != 0:
        sys.exit(f"bench: {server.name}, {' '.join(words)}: {result.stderr.strip()}")
    report = json.loads(result.stdout)
    latency, cpu = report["latency_us"], report["server_cpu_us"]
    return Figures(
        per_second=report["requests_per_second"], user=cpu["user"], system=cpu["system"],
        p50=latency["p50"], p99=latency["p99"], p999=latency["p99.9"], max=latency["max"],
    )


def median(runs):
    columns = zip(*map(dataclasses.astuple, runs))
    return Figures(*(statistics.median(column) for column in columns))
