"""Iris and redis-server side by side: CPU time of the server per operation, and throughput.

Both servers are driven by redis-benchmark, with one thread each and no pinning. CPU time (user and
system, all threads) is the steadier figure: on a small machine throughput depends on what else the
cores do. Runs of the two servers alternate, and the medians of the rounds are compared, so a noisy
minute hits both.
"""

import argparse
import datetime
import os
import platform
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

DOCUMENT = "docs/performance.md"
# Everything between these two lines is replaced; the rest of the document is written by people.
BEGIN, END = "<!-- script/bench begins -->", "<!-- script/bench ends -->"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server process of its own, on a free port and in its own directory."""

    def __init__(self, name, command):
        self.name = name
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="iris-bench-")
        arguments = [*command, "--port", str(self.port), "--dir", self.directory]
        self.process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline:
                    sys.exit(f"{name} does not answer on port {self.port}")
                time.sleep(0.05)

    def cpu_seconds(self):
        """Time on a core, of all threads; the scheduler counts it in nanoseconds."""
        tasks = f"/proc/{self.process.pid}/task"
        total = 0
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat", encoding="ascii") as schedstat:
                total += int(schedstat.read().split()[0])
        return total / 1e9

    def stop(self):
        self.process.terminate()
        self.process.wait(10)
        shutil.rmtree(self.directory, ignore_errors=True)


def run_once(server, test, pipeline, requests):
    """Microseconds of server CPU per operation, and operations per second."""
    before = server.cpu_seconds()
    output = subprocess.run(
        ["redis-benchmark", "-p", str(server.port), "-c", "50"]
        + ["-n", str(requests), "-P", str(pipeline), "-t", test, "--csv"],
        check=True, capture_output=True, text=True, timeout=300,
    ).stdout
    cpu = server.cpu_seconds() - before
    throughput = float(output.splitlines()[-1].split(",")[1].strip('"'))
    return cpu * 1e6 / requests, throughput


def measure(servers, rounds, seconds):
    rows = []
    for pipeline in (1, 16, 100):
        requests = int(seconds * {1: 80_000, 16: 800_000, 100: 2_500_000}[pipeline])
        results = {server.name: [] for server in servers}
        for _ in range(rounds):
            for server in servers:
                results[server.name].append(run_once(server, "ping_mbulk", pipeline, requests))
        medians = {
            name: [statistics.median(column) for column in zip(*runs)]
            for name, runs in results.items()
        }
        rows.append((pipeline, medians["iris"], medians["redis"]))
        print(f"bench: PING P={pipeline}: {medians}", flush=True)
    return rows


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        for line in info:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def table(rows, rounds):
    redis_version = subprocess.run(
        ["redis-server", "--version"], check=True, capture_output=True, text=True
    ).stdout.split()[2]
    lines = [
        f"Made by `script/bench --rounds {rounds}` on {datetime.date.today()}: {cpu_model()}, "
        f"{os.cpu_count()} cores, redis-server {redis_version}, `threads 1`, 50 connections, "
        "medians.",
        "",
        "| PING | Iris: CPU us/op | redis-server: CPU us/op | ratio | Iris: op/s | redis-server: op/s |",
        "|---|---|---|---|---|---|",
    ]
    for pipeline, iris, redis in rows:
        lines.append(
            f"| P={pipeline} | {iris[0]:.3f} | {redis[0]:.3f} | {iris[0] / redis[0]:.2f} "
            f"| {iris[1]:,.0f} | {redis[1]:,.0f} |"
        )
    return "\n".join(lines)


def write_document(text):
    with open(DOCUMENT, encoding="utf-8") as document:
        before, _, rest = document.read().partition(BEGIN)
    after = rest.partition(END)[2]
    with open(DOCUMENT, "w", encoding="utf-8") as document:
        document.write(f"{before}{BEGIN}\n{text}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iris", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each run, roughly")
    options = parser.parse_args()
    servers = []
    try:
        servers.append(Server("iris", [options.iris, "--threads", "1", "--loglevel", "warning"]))
        servers.append(Server("redis", ["redis-server", "--save", "", "--loglevel", "warning"]))
        rows = measure(servers, options.rounds, options.seconds)
    finally:
        for server in servers:
            server.stop()
    text = table(rows, options.rounds)
    print(text)
    write_document(text)


if __name__ == "__main__":
    main()
