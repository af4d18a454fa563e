"""Servers to measure: processes of our own, on free ports, with a temporary directory each."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

# Server and generator get a core each, so that neither takes the other's time.
SERVER_CORE, GENERATOR_CORE = 0, 1
PINNED = (os.cpu_count() or 1) > 1


def pinned_to(core):
    return ["taskset", "-c", str(core)] if PINNED else []


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """Runs until stop(). `arguments(port, directory)` is what follows the program's name."""

    def __init__(self, name, program, arguments, pinned=True):
        self.name = name
        self.port = free_port()
        self.directory = tempfile.mkdtemp(prefix="iris-bench-")
        self.arguments = ((pinned_to(SERVER_CORE) if pinned else []) +
                          [program, *arguments(self.port, self.directory)])
        self._start()

    def _start(self):
        self.process = subprocess.Popen(self.arguments, stdout=subprocess.DEVNULL)
        self._wait_until_it_answers()

    def restart(self):
        """Empty again, if it keeps nothing."""
        self._end()
        self._start()

    def _wait_until_it_answers(self):
        deadline = time.monotonic() + 10
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    self.stop()
                    sys.exit(f"bench: {self.name} does not answer on port {self.port}")
                time.sleep(0.05)

    @property
    def pid(self):
        return self.process.pid

    def command(self, *words):
        """The reply as redis-cli prints it; an error ends the run."""
        reply = subprocess.run(
            ["redis-cli", "-e", "-p", str(self.port), *map(str, words)],
            capture_output=True, text=True, timeout=60, check=False,
        )
        if reply.returncode != 0:
            sys.exit(f"bench: {self.name} answers {words} with: {reply.stdout}{reply.stderr}")
        return reply.stdout

    def used_bytes(self):
        time.sleep(0.3)  # Iris asks its allocator ten times a second
        for line in self.command("INFO", "memory").splitlines():
            if line.startswith("used_memory:"):
                return int(line.partition(":")[2])
        sys.exit(f"bench: {self.name} does not tell its used_memory")

    def cpu_seconds(self):
        """Time on a core, of all threads; the scheduler counts it in nanoseconds."""
        tasks = f"/proc/{self.pid}/task"
        total = 0
        for task in os.listdir(tasks):
            with open(f"{tasks}/{task}/schedstat", encoding="ascii") as schedstat:
                total += int(schedstat.read().split()[0])
        return total / 1e9

    def _end(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)

    def stop(self):
        self._end()
        shutil.rmtree(self.directory, ignore_errors=True)


def iris(program, threads=1, pinned=True):
    def arguments(port, directory):
        return ["--port", str(port), "--dir", directory, "--threads", str(threads),
                "--appendonly", "no", "--loglevel", "warning"]

    return Server("iris", program, arguments, pinned)


def redis(module=None, pinned=True):
    def arguments(port, directory):
        load = ["--loadmodule", module] if module else []
        return ["--port", str(port), "--dir", directory, "--save", "", "--appendonly", "no",
                "--loglevel", "warning", *load]

    return Server("redisbloom" if module else "redis", "redis-server", arguments, pinned)


def build_yardsticks(directory, into):
    """Compiles floor.cpp and hot.cpp; returns the programs by name."""
    programs = {}
    for name in ("floor", "hot"):
        programs[name] = f"{into}/{name}"
        subprocess.run(
            ["g++", "-O2", "-std=c++20", "-w", f"{directory}/{name}.cpp", "-o", programs[name],
             "-luv", "-lxxhash"],
            check=True,
        )
    return programs


def floor(program, request_bytes):
    return Server("floor", program, lambda port, _: [str(port), str(request_bytes)])


def hot(program):
    return Server("hot", program, lambda port, _: [str(port)])
