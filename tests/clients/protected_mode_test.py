"""Protected mode, seen from an address that is not a loopback one.

The whole test runs in a network namespace of its own, where such an address can be had without a
packet leaving this process's own little network: the test starts itself again under unshare.
"""

import os
import subprocess
import sys
import unittest

from iris_server import Server

OUTER_ADDRESS = "10.9.9.9"
INSIDE = "IRIS_TEST_IN_NAMESPACE"


class ProtectedModeTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server("bind *"))

    def call(self, address, *words):
        return subprocess.run(
            ["redis-cli", "-h", address, "-p", str(self.server.port), "--no-auth-warning", *words],
            capture_output=True, text=True, timeout=10,
        ).stdout.strip()

    def test_refuses_other_machines_until_there_is_a_password(self):
        self.assertEqual(self.call("127.0.0.1", "PING"), "PONG")
        refusal = self.call(OUTER_ADDRESS, "PING")
        self.assertTrue(refusal.startswith("DENIED Redis is running in protected mode"), refusal)

        self.assertEqual(self.call("127.0.0.1", "CONFIG", "SET", "protected-mode", "no"), "OK")
        self.assertEqual(self.call(OUTER_ADDRESS, "PING"), "PONG")

        settings = ["protected-mode", "yes", "requirepass", "secret"]
        self.assertEqual(self.call("127.0.0.1", "CONFIG", "SET", *settings), "OK")
        self.assertEqual(self.call(OUTER_ADDRESS, "-a", "secret", "PING"), "PONG")
        self.assertIn("NOAUTH", self.call(OUTER_ADDRESS, "PING"))


if __name__ == "__main__":
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        command = ["unshare", "--map-root-user", "--net", sys.executable, *sys.argv]
        os.execvp(command[0], command)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    subprocess.run(["ip", "address", "add", f"{OUTER_ADDRESS}/32", "dev", "lo"], check=True)
    unittest.main()
