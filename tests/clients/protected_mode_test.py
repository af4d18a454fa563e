"""Protected mode, seen from an address that is not a loopback one.

The whole test runs in a network namespace of its own, where such an address can be had without a
packet leaving this process's own little network: the test starts itself again under unshare. In a
container or a chroot that may be forbidden. Then it takes an address of this machine, which the
kernel does not let out either.
"""

import json
import os
import subprocess
import sys
import unittest

from iris_server import Server

ADDRESS_IN_NAMESPACE = "10.9.9.9"
OUTER_ADDRESS = "IRIS_TEST_OUTER_ADDRESS"
UNSHARE = ["unshare", "--map-root-user", "--net"]


class ProtectedModeTest(unittest.TestCase):
    def setUp(self):
        self.outer = os.environ[OUTER_ADDRESS]
        # All addresses only where no other machine can connect.
        alone = self.outer == ADDRESS_IN_NAMESPACE
        addresses = "*" if alone else f"127.0.0.1 {self.outer}"
        self.server = self.enterContext(Server(f"bind {addresses}"))

    def call(self, address, *words):
        return subprocess.run(
            ["redis-cli", "-h", address, "-p", str(self.server.port), "--no-auth-warning", *words],
            capture_output=True, text=True, timeout=10,
        ).stdout.strip()

    def test_refuses_other_machines_until_there_is_a_password(self):
        self.assertEqual(self.call("127.0.0.1", "PING"), "PONG")
        refusal = self.call(self.outer, "PING")
        self.assertTrue(refusal.startswith("DENIED Redis is running in protected mode"), refusal)

        self.assertEqual(self.call("127.0.0.1", "CONFIG", "SET", "protected-mode", "no"), "OK")
        self.assertEqual(self.call(self.outer, "PING"), "PONG")

        settings = ["protected-mode", "yes", "requirepass", "secret"]
        self.assertEqual(self.call("127.0.0.1", "CONFIG", "SET", *settings), "OK")
        self.assertEqual(self.call(self.outer, "-a", "secret", "PING"), "PONG")
        self.assertIn("NOAUTH", self.call(self.outer, "PING"))


def address_of_this_machine():
    command = ["ip", "-json", "-4", "address", "show", "up", "scope", "global"]
    interfaces = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    addresses = [info["local"] for interface in interfaces
                 for info in interface.get("addr_info", [])]
    if not addresses:
        sys.exit("no network namespace may be made here, and there is no address but loopback")
    return addresses[0]


def main():
    if OUTER_ADDRESS in os.environ:  # in the namespace
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        address = f"{ADDRESS_IN_NAMESPACE}/32"
        subprocess.run(["ip", "address", "add", address, "dev", "lo"], check=True)
    elif subprocess.run([*UNSHARE, "true"], capture_output=True).returncode == 0:
        os.environ[OUTER_ADDRESS] = ADDRESS_IN_NAMESPACE
        os.execvp(UNSHARE[0], [*UNSHARE, sys.executable, *sys.argv])
    else:
        os.environ[OUTER_ADDRESS] = address_of_this_machine()
    unittest.main()


if __name__ == "__main__":
    main()
