"""redis-cli as it is: its output formats and the tools built into it."""

import json
import re
import subprocess
import unittest

from iris_server import REFERENCE, Server


class RedisCliTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())

    def cli(self, *arguments, stdin="", timeout_s=30):
        """The output of redis-cli, which must succeed."""
        result = subprocess.run(
            ["redis-cli", "-p", str(self.server.port), *arguments],
            input=stdin, capture_output=True, text=True, timeout=timeout_s,
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return result.stdout

    def until_stopped(self, *arguments, seconds):
        """The output of a redis-cli that runs for ever, stopped after so many seconds."""
        command = ["timeout", str(seconds), "stdbuf", "-oL", "redis-cli", "-p", str(self.server.port)]
        return subprocess.run([*command, *arguments], capture_output=True, text=True).stdout

    def make_keys(self, count):
        for i in range(count):
            name = f"key:{i}"
            self.cli(*(["SETBIT", name, "800", "0"] if REFERENCE else ["BF.ADD", name, "item"]))

    def test_plain_commands(self):
        self.assertEqual(self.cli("PING"), "PONG\n")
        self.assertEqual(self.cli("ECHO", "two words"), "two words\n")
        self.assertEqual(self.cli("--no-raw", "EXISTS", "a"), "(integer) 0\n")
        self.assertIn("ERR unknown command", self.cli("NOPE"))

    def test_error_gives_exit_code_with_e(self):
        result = subprocess.run(
            ["redis-cli", "-p", str(self.server.port), "-e", "NOPE"], capture_output=True)
        self.assertEqual(result.returncode, 1)

    def test_reads_commands_from_stdin(self):
        self.assertEqual(self.cli(stdin='PING\nECHO "a b"\nDBSIZE\n'), "PONG\na b\n0\n")

    def test_repeats(self):
        self.assertEqual(self.cli("-r", "3", "PING"), "PONG\n" * 3)

    def test_over_unix_socket_and_other_database(self):
        result = subprocess.run(
            ["redis-cli", "-s", self.server.socket, "-n", "5", "CLIENT", "INFO"],
            capture_output=True, text=True)
        self.assertIn("db=5", result.stdout)

    def test_resp3(self):
        self.assertEqual(self.cli("-3", "PING"), "PONG\n")
        self.assertIn('1# "timeout" => "0"', self.cli("-3", "--no-raw", "CONFIG", "GET", "timeout"))
        if not REFERENCE:
            self.assertIn("(true)", self.cli("-3", "--no-raw", "BF.ADD", "f", "item"))

    def test_json(self):
        self.assertEqual(json.loads(self.cli("--json", "CONFIG", "GET", "timeout")), {"timeout": "0"})
        hello = json.loads(self.cli("--json", "HELLO", "3"))
        self.assertEqual(hello["proto"], 3)
        docs = json.loads(self.cli("--json", "COMMAND", "DOCS", "expire"))
        self.assertEqual(docs["expire"]["arguments"][0]["name"], "key")
        self.assertGreater(len(json.loads(self.cli("--json", "COMMAND"))), 60)

    def test_csv(self):
        self.assertEqual(self.cli("--csv", "CONFIG", "GET", "timeout"), '"timeout","0"\n')

    def test_scan(self):
        self.make_keys(50)
        self.assertEqual(sorted(self.cli("--scan").split()), sorted(f"key:{i}" for i in range(50)))
        self.assertEqual(len(self.cli("--scan", "--pattern", "key:1?").split()), 10)

    def test_bigkeys(self):
        self.make_keys(20)
        output = self.cli("--bigkeys")
        self.assertIn("Sampled 20 keys in the keyspace!", output)
        self.assertRegex(output, r"20 (bloom|string)s? with")

    def test_memkeys(self):
        self.make_keys(20)
        output = self.cli("--memkeys")
        self.assertIn("Sampled 20 keys in the keyspace!", output)
        self.assertRegex(output, r"Biggest +(bloom|string) found .* has [1-9]\d* bytes")

    def test_stat(self):
        self.make_keys(3)
        output = self.until_stopped("--stat", "-i", "0.1", seconds=1.5)
        rows = [line.split() for line in output.splitlines() if re.match(r"^\d", line)]
        self.assertGreaterEqual(len(rows), 3, output)
        self.assertEqual(rows[0][0], "3", "the first column is the number of keys")

    def test_latency(self):
        # Without a terminal it samples for a second and prints "min max avg count".
        output = self.cli("--latency")
        numbers = output.split()
        self.assertEqual(len(numbers), 4, output)
        self.assertGreater(int(numbers[3]), 10)

    def test_pipe(self):
        requests = "".join(
            f"*2\r\n$4\r\nECHO\r\n${len(str(i))}\r\n{i}\r\n" for i in range(20000))
        output = self.cli("--pipe", stdin=requests)
        self.assertIn("errors: 0, replies: 20000", output)

    def test_pipe_counts_errors(self):
        result = subprocess.run(
            ["redis-cli", "-p", str(self.server.port), "--pipe"],
            input="PING\r\nNOPE\r\nPING\r\n", capture_output=True, text=True)
        self.assertIn("errors: 1, replies: 3", result.stdout)

    def test_password(self):
        with Server("requirepass secret") as server:
            command = ["redis-cli", "-p", str(server.port), "--no-auth-warning", "-a"]
            for password, answer in (("secret", "PONG"), ("wrong", "WRONGPASS")):
                result = subprocess.run([*command, password, "PING"], capture_output=True, text=True)
                self.assertIn(answer, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
