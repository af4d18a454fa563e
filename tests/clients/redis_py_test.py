"""redis-py as Debian ships it: connections, pipelines, scans, transactions, filters."""

import threading
import unittest

import redis

from iris_server import REFERENCE, Server, wait_until


class RedisPyTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())
        self.redis = redis.Redis(port=self.server.port, decode_responses=True)
        self.addCleanup(self.redis.close)

    def make(self, key, client=None):
        client = client or self.redis
        if REFERENCE:
            client.setbit(key, 800, 0)
        else:
            client.execute_command("BF.RESERVE", key, 0.01, 100)

    def test_ping_echo_time(self):
        self.assertTrue(self.redis.ping())
        self.assertEqual(self.redis.echo("grüß"), "grüß")
        self.assertEqual(len(self.redis.time()), 2)

    def test_binary_values(self):
        raw = redis.Redis(port=self.server.port)
        self.addCleanup(raw.close)
        everything = bytes(range(256)) * 100
        self.assertEqual(raw.echo(everything), everything)

    def test_pipeline_is_a_transaction(self):
        self.make("a")
        with self.redis.pipeline() as pipe:
            pipe.exists("a").rename("a", "b").exists("a").exists("b")
            self.assertEqual(pipe.execute(), [1, True, 0, 1])

    def test_pipeline_without_transaction(self):
        with self.redis.pipeline(transaction=False) as pipe:
            for i in range(1000):
                pipe.echo(str(i))
            self.assertEqual(pipe.execute(), [str(i) for i in range(1000)])

    def test_pipeline_raises_the_error_of_a_command(self):
        with self.redis.pipeline() as pipe:
            pipe.rename("missing", "x")
            with self.assertRaisesRegex(redis.ResponseError, "no such key"):
                pipe.execute()

    def test_watch_error(self):
        self.make("a")
        with self.redis.pipeline() as pipe:
            pipe.watch("a")
            self.redis.delete("a")
            pipe.multi()
            pipe.ping()
            with self.assertRaises(redis.WatchError):
                pipe.execute()

    def test_scan_iter(self):
        for i in range(300):
            self.make(f"key:{i}")
        self.assertEqual(sorted(self.redis.scan_iter()), sorted(f"key:{i}" for i in range(300)))
        self.assertEqual(len(list(self.redis.scan_iter("key:29?", count=7))), 10)
        kind = "string" if REFERENCE else "bloom"
        self.assertEqual(len(list(self.redis.scan_iter(_type=kind))), 300)

    def test_expiry(self):
        self.make("a")
        self.assertTrue(self.redis.expire("a", 100))
        self.assertFalse(self.redis.expire("a", 50, gt=True))
        self.assertLessEqual(self.redis.ttl("a"), 100)
        self.assertTrue(self.redis.persist("a"))
        self.redis.pexpire("a", 10)
        self.assertTrue(wait_until(lambda: not self.redis.exists("a")))

    def test_info_config_client(self):
        info = self.redis.info()
        self.assertEqual(info["tcp_port"], self.server.port)
        self.assertEqual(info["role"], "master")
        self.assertIn("cmdstat_info", self.redis.info("commandstats"))
        self.assertEqual(self.redis.config_get("timeout"), {"timeout": "0"})
        self.assertTrue(self.redis.config_set("timeout", 100))
        self.redis.client_setname("bee")
        self.assertEqual(self.redis.client_getname(), "bee")
        self.assertIn("bee", [client["name"] for client in self.redis.client_list()])

    def test_command_table(self):
        commands = self.redis.command()
        self.assertEqual(len(commands), self.redis.command_count())
        self.assertEqual(commands["exists"]["arity"], -2)
        self.assertEqual(self.redis.command_getkeys("EXISTS", "a", "b"), ["a", "b"])

    def test_slowlog_and_memory(self):
        self.redis.config_set("slowlog-log-slower-than", 0)
        self.redis.echo("slow")
        self.assertTrue(any("slow" in str(entry["command"]) for entry in self.redis.slowlog_get()))
        self.make("a")
        self.assertGreater(self.redis.memory_usage("a"), 0)
        self.assertIn("keys.count", self.redis.memory_stats())

    def test_monitor(self):
        with self.redis.monitor() as monitor:
            other = redis.Redis(port=self.server.port)
            self.addCleanup(other.close)
            other.echo("seen")
            commands = [monitor.next_command()["command"] for _ in range(1)]
            self.assertEqual(commands, ["ECHO seen"])

    def test_pool_used_by_many_threads(self):
        failures = []

        def work(number):
            for i in range(200):
                text = f"{number}:{i}"
                if self.redis.echo(text) != text:
                    failures.append(text)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])

    def test_password_and_database(self):
        with Server("requirepass secret") as server:
            with self.assertRaises(redis.AuthenticationError):
                redis.Redis(port=server.port).ping()
            with self.assertRaisesRegex(redis.RedisError, "WRONGPASS"):
                redis.Redis(port=server.port, password="wrong").ping()
            client = redis.Redis(port=server.port, password="secret", db=7)
            self.assertTrue(client.ping())
            self.assertEqual(client.client_info()["db"], 7)
            client.close()

    def test_unix_socket(self):
        client = redis.Redis(unix_socket_path=self.server.socket)
        self.addCleanup(client.close)
        self.assertTrue(client.ping())

    @unittest.skipIf(REFERENCE, "only Iris has filters")
    def test_bloom_filters(self):
        bloom = self.redis.bf()
        self.assertTrue(bloom.create("f", 0.01, 1000))
        self.assertEqual(bloom.add("f", "a"), 1)
        self.assertEqual(bloom.add("f", "a"), 0)
        self.assertEqual(bloom.madd("f", "a", "b"), [0, 1])
        self.assertEqual(bloom.exists("f", "b"), 1)
        self.assertEqual(bloom.mexists("f", "a", "never"), [1, 0])
        self.assertEqual(bloom.insert("g", ["x", "y"], capacity=500, error=0.001), [1, 1])
        info = bloom.info("f")
        self.assertEqual((info.capacity, info.insertedNum, info.filterNum), (1000, 2, 1))
        with self.assertRaisesRegex(redis.ResponseError, "item exists"):
            bloom.create("f", 0.01, 1000)

    @unittest.skipIf(REFERENCE, "only Iris has filters")
    def test_bloom_dump_and_load(self):
        bloom = redis.Redis(port=self.server.port).bf()
        bloom.create("f", 0.01, 1000)
        bloom.madd("f", *[f"item{i}" for i in range(500)])
        cursor = 0
        while True:
            cursor, data = bloom.scandump("f", cursor)
            if cursor == 0:
                break
            bloom.loadchunk("copy", cursor, data)
        self.assertEqual(bloom.mexists("copy", *[f"item{i}" for i in range(500)]), [1] * 500)


if __name__ == "__main__":
    unittest.main()
