"""redis-py's own Bloom filter commands, as far as Debian's version has them: every option that it
can send, in pipelines and transactions too."""

import unittest

import redis

from iris_server import REFERENCE, Server


@unittest.skipIf(REFERENCE, "only Iris has filters")
class RedisPyBloomTest(unittest.TestCase):
    def setUp(self):
        self.server = self.enterContext(Server())
        self.redis = redis.Redis(port=self.server.port, decode_responses=True)
        self.addCleanup(self.redis.close)
        self.bloom = self.redis.bf()

    def test_create_with_every_option(self):
        self.assertTrue(self.bloom.create("scales", 0.001, 500, expansion=4))
        self.assertTrue(self.bloom.create("fixed", 0.001, 500, noScale=True))
        self.assertEqual(self.bloom.info("scales").expansionRate, 4)
        self.assertIsNone(self.bloom.info("fixed").expansionRate)
        with self.assertRaisesRegex(redis.ResponseError, "Nonscaling filters cannot expand"):
            self.bloom.create("both", 0.01, 100, expansion=2, noScale=True)

    def test_insert_with_every_option(self):
        options = {"capacity": 300, "error": 0.001, "expansion": 3}
        self.assertEqual(self.bloom.insert("f", ["a", "b", "a"], **options), [1, 1, 0])
        self.assertEqual(self.bloom.info("f").capacity, 300)
        self.assertEqual(self.bloom.info("f").expansionRate, 3)
        self.assertEqual(self.bloom.insert("f", ["b", "c"], noCreate=True), [0, 1])
        with self.assertRaisesRegex(redis.ResponseError, "not found"):
            self.bloom.insert("missing", ["a"], noCreate=True)
        self.assertEqual(self.bloom.insert("fixed", ["a"], noScale=True), [1])

    def test_a_full_filter_is_an_error_in_the_list(self):
        self.bloom.create("f", 0.000001, 2, noScale=True)
        added = self.bloom.madd("f", "a", "b", "c", "d")
        self.assertEqual(added[:2], [1, 1])
        self.assertIsInstance(added[2], redis.ResponseError)
        self.assertEqual(len(added), 3)
        with self.assertRaisesRegex(redis.ResponseError, "non scaling filter is full"):
            self.bloom.add("f", "c")

    def test_info_follows_growth(self):
        self.bloom.create("f", 0.01, 10)
        for i in range(0, 1000, 100):
            self.bloom.madd("f", *range(i, i + 100))
        info = self.bloom.info("f")
        self.assertGreater(info.filterNum, 3)
        self.assertGreaterEqual(info.capacity, info.insertedNum)
        self.assertGreater(info.insertedNum, 970)
        self.assertEqual(self.bloom.mexists("f", *range(1000)), [1] * 1000)

    def test_pipeline_and_transaction(self):
        for transaction in (False, True):
            key = f"f{transaction}"
            pipe = self.redis.pipeline(transaction=transaction)
            pipe.execute_command("BF.RESERVE", key, 0.01, 100)
            pipe.execute_command("BF.MADD", key, "a", "b")
            pipe.execute_command("BF.EXISTS", key, "a")
            pipe.execute_command("BF.CARD", key)
            self.assertEqual(pipe.execute()[1:], [[1, 1], 1, 2])

    def test_missing_keys(self):
        self.assertEqual(self.bloom.exists("missing", "a"), 0)
        self.assertEqual(self.bloom.mexists("missing", "a", "b"), [0, 0])
        with self.assertRaisesRegex(redis.ResponseError, "not found"):
            self.bloom.info("missing")


if __name__ == "__main__":
    unittest.main()
