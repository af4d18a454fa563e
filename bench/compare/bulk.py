"""One command with very many items: server CPU time an item, on a filter larger than the cache, beside
what redis-server takes for a set."""

import socket
import statistics

FIRST = 5 * 10**11  # far from the items of the other runs
NEW, KNOWN, LOOKED_UP = "new items", "known items", "lookups"
# (server, command, key, what the items are, lines of the reply; None: its length and one an item)
PLANS = (
    ("iris", b"BF.MADD", b"f", NEW, None),
    ("iris", b"BF.MADD", b"f", KNOWN, None),
    ("iris", b"BF.MEXISTS", b"f", LOOKED_UP, None),
    ("redis", b"SADD", b"bulk", NEW, 1),
    ("redis", b"SMISMEMBER", b"bulk", LOOKED_UP, None),
)


def request(command, key, first, items):
    def bulk(word):
        return b"$%d\r\n%b\r\n" % (len(word), word)

    return b"*%d\r\n" % (items + 2) + bulk(command) + bulk(key) + b"".join(
        b"$12\r\n%012d\r\n" % number for number in range(first, first + items))


def cpu_of(server, message, lines):
    """CPU seconds of the server until it has answered with so many lines."""
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        begun = server.cpu_seconds()
        connection.sendall(message)
        while lines > 0:
            piece = connection.recv(1 << 20)
            if not piece:
                raise ConnectionError(f"{server.name} has closed the connection")
            lines -= piece.count(b"\n")
        return server.cpu_seconds() - begun


def measure(running, rounds, items):
    """Medians in microseconds an item, by (server, command, what the items are)."""
    runs = {}
    for number in range(rounds):
        for name, command, key, what, lines in PLANS:
            message = request(command, key, FIRST + number * items, items)
            seconds = cpu_of(running[name], message, lines or items + 1)
            runs.setdefault((name, command.decode(), what), []).append(seconds / items * 1e6)
    print("bench: very many items done", flush=True)
    return {key: statistics.median(values) for key, values in runs.items()}
