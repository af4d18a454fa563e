"""redis-benchmark runs to its end, without an error, in small runs."""

import subprocess
import unittest

from iris_server import REFERENCE, Server


class RedisBenchmarkTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())

    def benchmark(self, *arguments):
        result = subprocess.run(
            ["redis-benchmark", "-p", str(self.server.port), *arguments],
            capture_output=True, text=True, timeout=60,
        )
        output = result.stdout + result.stderr
        self.assertEqual(result.returncode, 0, output)
        self.assertNotIn("rror", output)
        self.assertNotIn("Could not fetch server CONFIG", output)
        return output

    def test_ping_at_each_depth(self):
        for depth in ("1", "16", "100"):
            output = self.benchmark("-t", "ping_inline,ping_mbulk", "-n", "20000", "-P", depth, "-q")
            self.assertIn("PING_INLINE", output)
            self.assertIn("PING_MBULK", output)

    def test_many_connections_and_threads(self):
        output = self.benchmark("-t", "ping_mbulk", "-n", "20000", "-c", "200", "--threads", "2", "-q")
        self.assertIn("requests per second", output)

    def test_without_keepalive(self):
        self.benchmark("-t", "ping_mbulk", "-n", "1000", "-k", "0", "-q")

    def test_resp3(self):
        self.benchmark("-t", "ping_mbulk", "-n", "2000", "-3", "-q")

    def test_own_command_with_random_items(self):
        command = ["SADD", "f", "__rand_int__"] if REFERENCE else ["BF.ADD", "f", "__rand_int__"]
        output = self.benchmark("-n", "20000", "-r", "1000000", "-P", "16", *command)
        self.assertIn("throughput summary", output)


if __name__ == "__main__":
    unittest.main()
