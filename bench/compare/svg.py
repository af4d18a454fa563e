"""Line charts as SVG, no more than the documents need: one file a chart, readable on white and on
dark pages, and text that a search finds."""

import dataclasses
import html
import math

WIDTH, HEIGHT = 720, 400
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 40, 50
COLOURS = ("#1b6ca8", "#c0392b", "#27803b", "#8e44ad", "#b9770e", "#5d6d7e", "#16a3a3")
DASHED = ' stroke-dasharray="6 4"'


@dataclasses.dataclass(frozen=True)
class Series:
    """A line with marks, a dashed line, or marks alone."""

    name: str
    points: tuple
    colour: int  # of COLOURS; several may share one
    style: str = "line"  # or "dashed", "marks"


class Axis:
    """From values to pixels, linear or logarithmic."""

    def __init__(self, values, pixels, logarithmic):
        self.logarithmic = logarithmic
        self.pixels = pixels
        low, high = min(values), max(values)
        if logarithmic:
            self.low = 10 ** math.floor(math.log10(low))
            self.high = 10 ** math.ceil(math.log10(high))
            if self.low == self.high:
                self.high *= 10
        else:
            self.step = _round_step(high / 5 if high > 0 else 1)
            self.low, self.high = 0, self.step * max(1, math.ceil(high / self.step - 1e-9))

    def at(self, value):
        first, last = self.pixels
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return first + share * (last - first)

    def ticks(self):
        if not self.logarithmic:
            return [self.step * i for i in range(round(self.high / self.step) + 1)]
        decades = round(math.log10(self.high / self.low))
        return [self.low * 10**i for i in range(decades + 1)]


def _round_step(step):
    power = 10 ** math.floor(math.log10(step))
    return next(power * nice for nice in (1, 2, 2.5, 5, 10) if power * nice >= step)


def short(value):
    for limit, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= limit:
            return f"{value / limit:g}{suffix}"
    return f"{value:.3g}"


def _text(x, y, text, anchor="middle", more=""):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>'
            f"{html.escape(text)}</text>")


def _rule(x1, y1, x2, y2):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="g"/>'


def _grid(x_axis, y_axis, x_ticks):
    parts = []
    for tick in x_ticks or x_axis.ticks():
        x = x_axis.at(tick)
        parts.append(_rule(x, TOP, x, HEIGHT - BOTTOM))
        parts.append(_text(x, HEIGHT - BOTTOM + 18, short(tick)))
    for tick in y_axis.ticks():
        y = y_axis.at(tick)
        parts.append(_rule(LEFT, y, WIDTH - RIGHT, y))
        parts.append(_text(LEFT - 8, y + 4, short(tick), "end"))
    return parts


def _draw(pixels, series):
    colour, parts = COLOURS[series.colour], []
    if series.style != "marks":
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in pixels)
        dash = DASHED if series.style == "dashed" else ""
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
    if series.style != "dashed":
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in pixels]
    return parts


def _legend(row, series):
    x, y = WIDTH - RIGHT + 14, TOP + 12 + 20 * row
    sample = [(x, y), (x + 22, y)] if series.style != "marks" else [(x + 11, y)]
    return _draw(sample, series) + [_text(x + 28, y + 4, series.name, "start")]


def chart(title, x_label, y_label, all_series, log_x=False, log_y=False, x_ticks=None):
    """Points that a logarithm cannot show are left out."""
    shown = {
        series: [(x, y) for x, y in series.points if (x > 0 or not log_x) and (y > 0 or not log_y)]
        for series in all_series
    }
    everything = [point for points in shown.values() for point in points]
    x_axis = Axis([x for x, _ in everything], (LEFT, WIDTH - RIGHT), log_x)
    y_axis = Axis([y for _, y in everything], (HEIGHT - BOTTOM, TOP), log_y)
    parts = _grid(x_axis, y_axis, x_ticks)
    for row, (series, points) in enumerate(shown.items()):
        parts += _draw([(x_axis.at(x), y_axis.at(y)) for x, y in points], series)
        parts += _legend(row, series)
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(_text(middle, 22, title, more='font-weight="bold"'))
    parts.append(_text(middle, HEIGHT - 12, x_label))
    centre = (TOP + HEIGHT - BOTTOM) / 2
    parts.append(_text(16, centre, y_label, more=f'transform="rotate(-90 16 {centre})"'))
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'font-family="sans-serif" font-size="12" fill="#222">\n'
        f"<title>{html.escape(title)}</title>\n<style>.g{{stroke:#ddd}}</style>\n"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>\n{body}\n</svg>\n'
    )

