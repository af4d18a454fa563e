"""A real server for the client tests: its own process, port and temporary directory.

    with Server() as server:
        subprocess.run(["redis-cli", "-p", str(server.port), "PING"])

The program is $IRIS_SERVER, its workers $IRIS_TEST_THREADS. It must end with exit code 0. As in
tests/integration, IRIS_TEST_SERVER=/usr/bin/redis-server runs the tests against another server, an
aid for writing them; what only Iris has is then left out (REFERENCE).
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

REFERENCE = "IRIS_TEST_SERVER" in os.environ
PATIENCE_S = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_until(condition, timeout_s=PATIENCE_S):
    """Polls until condition() is true; False when timeout_s have passed."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Server:
    def __init__(self, *directives):
        self.directives = directives

    def __enter__(self):
        self.dir = tempfile.mkdtemp(prefix="iris-test-")
        self.socket = os.path.join(self.dir, "socket")
        for _ in range(5):
            self.port = free_port()
            self._launch()
            if wait_until(lambda: self._answers() or self.process.poll() is not None) and (
                self.process.poll() is None
            ):
                return self
            self.process.kill()
            self.process.wait()
        raise RuntimeError("the server did not start:\n" + self.log())

    def __exit__(self, kind, value, trace):
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        log = self.log()
        shutil.rmtree(self.dir, ignore_errors=True)
        if kind is not None or code != 0:
            print("--- log of the server\n" + log[-8000:] + "---")
        if kind is None and code != 0:
            raise RuntimeError(f"the server exited with {code}")

    def log(self):
        with open(os.path.join(self.dir, "log"), errors="replace") as file:
            return file.read()

    def _launch(self):
        lines = [f"port {self.port}", "bind 127.0.0.1", f"dir {self.dir}", "unixsocket socket"]
        if REFERENCE:
            program = os.environ["IRIS_TEST_SERVER"]
            lines += ['save ""']
        else:
            program = os.environ["IRIS_SERVER"]
            lines += [f"threads {os.environ.get('IRIS_TEST_THREADS', '1')}"]
        config = os.path.join(self.dir, "test.conf")
        with open(config, "w") as file:
            file.write("\n".join([*lines, *self.directives, ""]))
        with open(os.path.join(self.dir, "log"), "ab") as log:
            self.process = subprocess.Popen([program, config], stdout=log, stderr=log)

    def _answers(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), PATIENCE_S) as connection:
                connection.sendall(b"DBSIZE\r\n")
                reply = connection.recv(100)
                return reply != b"" and not reply.startswith(b"-LOADING")
        except OSError:
            return False
