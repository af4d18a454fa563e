"""Tables, and the part of docs/performance.md between two marks; the rest is written by people."""

BEGIN, END = "<!-- script/bench begins -->", "<!-- script/bench ends -->"
NAMES = {"iris": "Iris", "redis": "redis-server", "redisbloom": "RedisBloom",
         "hot": "prototype hot.cpp", "floor": "libuv alone, floor.cpp"}


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def bulk(medians, items):
    rows = [(NAMES[server], command, what, f"{figure:.3f}")
            for (server, command, what), figure in medians.items()]
    return (f"One command with {items:,} items of 12 bytes, parsing and reply included.\n\n" +
            table(("server", "command", "of", "server CPU, us an item"), rows))


def targets(title, wanted):
    rows = []
    for target in wanted:
        measured = "" if target.measured is None else f"{target.measured:.3f}"
        sign = "at least" if target.at_least else "at most"
        rows.append((target.text, measured, f"{sign} {target.limit:g}", target.verdict))
    return f"### {title}\n\n" + table(("target", "measured", "limit", ""), rows)


def commands(medians, pipelines):
    """A row a command; in a cell the figures of all pipeline depths."""
    order = list(NAMES)
    rows = []
    for server, label in sorted(dict.fromkeys(key[:2] for key in medians),
                                key=lambda key: order.index(key[0])):
        own = [medians[server, label, p] for p in pipelines]
        get = [medians["redis", "GET", p] for p in pipelines]

        def cell(values):
            return " / ".join(values)

        rows.append((
            NAMES[server], label,
            cell(f"{figures.cpu:.3g}" for figures in own),
            cell(f"{figures.user:.2g} + {figures.system:.2g}" for figures in own),
            cell(f"{ours.cpu / theirs.cpu:.2f}" for ours, theirs in zip(own, get)),
            cell(f"{figures.per_second / 1e3:,.0f}" for figures in own),
            cell(f"{ours.per_second / theirs.per_second:.2f}" for ours, theirs in zip(own, get)),
        ))
    depths = " / ".join(map(str, pipelines))
    return (f"At P = {depths}; \"beside GET\" is the ratio to redis-server's GET.\n\n" + table(
        ("server", "command", "server CPU, us/op", "user + system", "beside GET", "1000 op/s",
         "beside GET"), rows))


def redisbloom(medians, pipelines):
    """Command by command; empty without the module."""
    rows = []
    for server, label in dict.fromkeys(key[:2] for key in medians):
        if server != "redisbloom" or ("iris", label, 1) not in medians:
            continue
        for pipeline in pipelines:
            own, peer = medians["iris", label, pipeline], medians[server, label, pipeline]
            rows.append((label, str(pipeline), f"{own.cpu:.3f}", f"{peer.cpu:.3f}",
                         f"{own.cpu / peer.cpu:.2f}", f"{own.per_second / peer.per_second:.2f}"))
    if not rows:
        return ""
    return table(("command", "P", "Iris: CPU us/op", "RedisBloom: CPU us/op", "CPU ratio",
                  "throughput ratio"), rows)


def latency(figures, rates):
    rows = []
    for server, title in (("iris", "Iris: BF.EXISTS 10M"), ("redis", "redis-server: GET")):
        own = figures[server]
        rows.append((title, f"{rates[server]:,.0f}", f"{own.p50:.0f}", f"{own.p99:.0f}",
                     f"{own.p999:.0f}", f"{own.max:.0f}"))
    own, peer = figures["iris"], figures["redis"]
    rows.append(("ratio", f"{rates['iris'] / rates['redis']:.2f}", f"{own.p50 / peer.p50:.2f}",
                 f"{own.p99 / peer.p99:.2f}", f"{own.p999 / peer.p999:.2f}",
                 f"{own.max / peer.max:.2f}"))
    return table(("at half of its maximal rate", "requests/s", "p50, us", "p99, us", "p99.9, us",
                  "max, us"), rows)


def memory(rows, items):
    set_bytes = dict(rows)["redis-server: SET (SADD)"]
    return table(
        (f"{items:,} items of 12 bytes", "MB", "bytes an item", "beside the set"),
        [(name, f"{used / 1e6:.2f}", f"{used / items:.2f}", f"{used / set_bytes:.3f}")
         for name, used in rows])


def threads(rows, sockets):
    cells = [(row["mix"], row["threads"], f"{row['by_wall']:,.0f}",
              f"{row['wall_ratio']:.2f}", f"{row['cpu_ratio']:.2f}") for row in rows]
    one = sockets[1].per_second
    cells += [("BF.EXISTS over sockets, P=100", str(n), f"{f.per_second:,.0f}",
               f"{f.per_second / one:.2f}", "") for n, f in sockets.items()]
    return table(("one hot key, 10M", "threads", "op/s", "of one thread",
                  "of one thread, by CPU time"), cells)


def ping(rows):
    return table(
        ("PING", "Iris: CPU us/op", "redis-server: CPU us/op", "ratio", "Iris: op/s",
         "redis-server: op/s"),
        [(f"P={p}", f"{row['iris'][0]:.3f}", f"{row['redis'][0]:.3f}",
          f"{row['iris'][0] / row['redis'][0]:.2f}", f"{row['iris'][1]:,.0f}",
          f"{row['redis'][1]:,.0f}") for p, row in rows.items()])


def replace_part(source, destination, text, marks=(BEGIN, END)):
    """The document `source` with `text` between the marks, written to `destination`."""
    begin, end = marks
    with open(source, encoding="utf-8") as document:
        before, mark, rest = document.read().partition(begin)
    after = rest.partition(end)[2]
    if not mark:
        raise SystemExit(f"bench: {source} has no line {begin}")
    with open(destination, "w", encoding="utf-8") as document:
        document.write(f"{before}{begin}\n{text}\n{end}{after}")
