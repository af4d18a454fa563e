"""The charts of docs/performance.md."""

import svg

OWN = ("PING", "BF.EXISTS 100M", "BF.ADD 100M", "CF.INCR 10M")
PEER = ("PING", "GET", "SADD")


def throughput(medians, pipelines):
    lines = [("iris", "Iris", label, "line") for label in OWN]
    lines += [("redis", "redis-server", label, "dashed") for label in PEER]
    series = [
        svg.Series(f"{title}: {label}",
                   tuple((p, medians[server, label, p].per_second) for p in pipelines),
                   colour, style)
        for colour, (server, title, label, style) in enumerate(lines)
    ]
    return svg.chart("Throughput by pipeline depth, one thread", "requests a pipeline",
                     "requests a second", series, log_x=True, log_y=True, x_ticks=pipelines)


def latency(points):
    series = []
    for colour, (server, title) in enumerate((("iris", "Iris"), ("redis", "redis-server"))):
        for name, style in (("p999", "line"), ("p50", "dashed")):
            series.append(svg.Series(
                f"{title}, {'p99.9' if name == 'p999' else name}",
                tuple((rate, getattr(figures, name)) for rate, figures in points[server]),
                colour, style))
    return svg.chart("Latency by rate: BF.EXISTS of Iris, GET of redis-server; P=1",
                     "requests a second", "microseconds", series, log_y=True)


def by_layout(rows, x, y, style, suffix="", scale=1):
    """One series a layout, in the order of the rows."""
    return [
        svg.Series(layout + suffix,
                   tuple((float(row[x]), scale * float(row[y]))
                         for row in rows if row["layout"] == layout),
                   colour, style)
        for colour, layout in enumerate(dict.fromkeys(row["layout"] for row in rows))
    ]


def threads(rows, sockets):
    series = [
        svg.Series(mix, tuple((int(row["threads"]), row["by_wall"])
                              for row in rows if row["mix"] == mix), colour)
        for colour, mix in enumerate(dict.fromkeys(row["mix"] for row in rows))
    ]
    series.append(svg.Series("BF.EXISTS, sockets",
                             tuple((n, f.per_second) for n, f in sockets.items()), len(series),
                             "dashed"))
    return svg.chart("Throughput by threads, one hot key", "threads", "requests a second", series,
                     x_ticks=sorted(sockets))


def false_positives(rows):
    series = by_layout(rows, "load", "measured", "marks", ", measured", 100)
    series += by_layout(rows, "load", "computed", "dashed", ", computed", 100)
    return svg.chart("False positives of a filter for 1,000,000 items at 1 %",
                     "items added / capacity", "false positives, %", series, log_y=True)


def bits(rows):
    return svg.chart("Bits an item by rate of false positives", "rate of false positives",
                     "bits an item", by_layout(rows, "rate", "bits_per_item", "line"), log_x=True)
