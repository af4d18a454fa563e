"""node-redis (Debian's) against a real server: node_redis_filters.js has the conversation."""

import os
import subprocess
import unittest

from iris_server import REFERENCE, Server

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node_redis_filters.js")


@unittest.skipIf(REFERENCE, "only Iris has filters")
class NodeRedisTest(unittest.TestCase):
    def test_filters_by_their_own_commands(self):
        with Server() as server:
            result = subprocess.run(
                ["node", SCRIPT, str(server.port)], capture_output=True, text=True, timeout=60,
                env={**os.environ, "NODE_PATH": "/usr/share/nodejs"}, check=False)
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
