"""Memory for a number of items: filters of Iris beside what Redis keeps them in."""

import load

TEN = ["__item__"] * 10
HASH_TEN = [word for _ in range(10) for word in ("__item__", "1")]


def measure(running, loadgen, items):
    """Rows of (what, bytes that the server uses more than before)."""
    iris, redis = running["iris"], running["redis"]
    plans = [
        (iris, "Iris: Bloom filter, 1 %", ["BF.RESERVE", "mem", "0.01", items],
         ["BF.MADD", "mem", *TEN]),
        (iris, "Iris: Bloom filter, 0.1 %", ["BF.RESERVE", "mem", "0.001", items],
         ["BF.MADD", "mem", *TEN]),
        (redis, "redis-server: SET (SADD)", None, ["SADD", "mem", *TEN]),
        (iris, "Iris: counting filter, 1 %", ["CF.RESERVE", "mem", items],
         ["CF.INSERT", "mem", "ITEMS", *TEN]),
        (redis, "redis-server: hash of counts (HSET)", None, ["HSET", "mem", *HASH_TEN]),
    ]
    rows = []
    for server, name, make, words in plans:
        # Once for nothing: buffers that the server keeps must not count as the filter's.
        fill(server, loadgen, make, words, items)
        server.command("DEL", "mem")
        before = server.used_bytes()
        fill(server, loadgen, make, words, items)
        rows.append((name, server.used_bytes() - before))
        server.command("DEL", "mem")
    print("bench: memory done", flush=True)
    return rows


def fill(server, loadgen, make, words, items):
    if make:
        server.command(*make)
    load.run(loadgen, server, words, "--sequential", "--requests", items // 10, "--pipeline", 100)
