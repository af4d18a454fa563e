"""redis-py's own cuckoo filter commands (`cf()`), unchanged, against spectral filters."""

import unittest

import redis

from iris_server import REFERENCE, Server


@unittest.skipIf(REFERENCE, "only Iris has filters")
class RedisPyCuckooTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())
        self.redis = redis.Redis(port=self.server.port)
        self.addCleanup(self.redis.close)
        self.cuckoo = self.redis.cf()

    def test_create_with_every_option(self):
        self.assertTrue(self.cuckoo.create("plain", 1000))
        self.assertTrue(self.cuckoo.create("all", 1000, expansion=4, bucket_size=4,
                                           max_iterations=30))
        info = self.cuckoo.info("all")
        self.assertEqual((info.bucketSize, info.expansionRate, info.maxIteration), (4, 4, 30))
        with self.assertRaisesRegex(redis.ResponseError, "item exists"):
            self.cuckoo.create("plain", 1000)

    def test_add_count_and_delete(self):
        self.assertEqual(self.cuckoo.add("f", "a"), 1)
        self.assertEqual(self.cuckoo.add("f", "a"), 1)
        self.assertEqual(self.cuckoo.addnx("f", "a"), 0)
        self.assertEqual(self.cuckoo.addnx("f", "b"), 1)
        self.assertEqual(self.cuckoo.count("f", "a"), 2)
        self.assertEqual(self.cuckoo.delete("f", "a"), 1)
        self.assertEqual(self.cuckoo.count("f", "a"), 1)
        self.assertEqual(self.cuckoo.delete("f", "a"), 1)
        self.assertEqual(self.cuckoo.delete("f", "a"), 0)
        self.assertEqual(self.cuckoo.exists("f", "a"), 0)
        self.assertEqual(self.cuckoo.exists("f", "b"), 1)
        self.assertEqual(self.cuckoo.mexists("f", "a", "b", "c"), [0, 1, 0])

    def test_insert_with_every_option(self):
        self.assertEqual(self.cuckoo.insert("f", ["a", "b", "a"], capacity=500), [1, 1, 1])
        self.assertEqual(self.cuckoo.insertnx("f", ["a", "c"], nocreate=True), [0, 1])
        self.assertEqual(self.cuckoo.insert("f", ["c"], nocreate=True), [1])
        self.assertEqual(self.cuckoo.count("f", "c"), 2)
        with self.assertRaisesRegex(redis.ResponseError, "not found"):
            self.cuckoo.insert("missing", ["a"], nocreate=True)

    def test_info_counts(self):
        self.cuckoo.create("f", 1000)
        for item in ("a", "b", "c"):
            self.cuckoo.add("f", item)
        self.cuckoo.delete("f", "c")
        info = self.cuckoo.info("f")
        self.assertEqual((info.insertedNum, info.deletedNum, info.filterNum), (2, 1, 1))
        self.assertGreater(info.size, 0)

    def test_scandump_and_loadchunk(self):
        for number in range(300):
            self.cuckoo.insert("from", [f"item{number}"] * (number % 3 + 1))
        iterator = 0
        while True:
            iterator, data = self.cuckoo.scandump("from", iterator)
            if iterator == 0:
                break
            self.cuckoo.loadchunk("to", iterator, data)
        for number in range(300):
            self.assertEqual(self.cuckoo.count("to", f"item{number}"),
                             self.cuckoo.count("from", f"item{number}"))

    def test_the_commands_that_no_other_server_has(self):
        command = self.redis.execute_command
        self.assertEqual(command("CF.INCR", "f", "a", 5), 5)
        self.assertEqual(command("CF.DECR", "f", "a", 2), 3)
        self.assertEqual(command("CF.INCRBY", "f", "a", 1, "b", 7), [4, 7])
        self.assertEqual(command("CF.MCOUNT", "f", "a", "b", "c"), [4, 7, 0])


if __name__ == "__main__":
    unittest.main()
