# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of the examples."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

COMPUTING = "#4c6a92"
WAITING = "#e0a458"


def draw_bars(path, title, bars, bound_s=None, bound_text=""):
    """Draws the parts of a step's time. A bar is (name, seconds of computing, seconds of the
    step)."""
    figure, axes = pyplot.subplots(figsize=(7.5, 1.5 + 0.55 * len(bars)), layout="constrained")
    for row, (_, computing, whole) in enumerate(bars):
        waiting = max(0, whole - computing)
        axes.barh(
            row, computing, color=COMPUTING, height=0.55, label="computing" if row == 0 else None
        )
        axes.barh(
            row,
            waiting,
            left=computing,
            color=WAITING,
            height=0.55,
            label="waiting for the network" if row == 0 else None,
        )
        axes.text(whole, row, f"  {whole:.2f} s", va="center")
    if bound_s:
        axes.axvline(bound_s, color="#444444", linestyle=":", linewidth=1.2, label=bound_text)
    axes.set_yticks(range(len(bars)), [name for name, _, _ in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.18 * max(whole for _, _, whole in bars))
    axes.set_xlabel("seconds a step")
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(frameon=False, fontsize=8, ncols=3, loc="outside lower center")
    _save(figure, path)


def draw_curve(path, title, xs, ys, x_name, y_name):
    figure, axes = pyplot.subplots(figsize=(6, 3), layout="constrained")
    axes.plot(xs, ys, color=COMPUTING, linewidth=1.8)
    axes.set_xlabel(x_name)
    axes.set_ylabel(y_name)
    axes.set_ylim(0)
    axes.set_title(title, loc="left", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)
    _save(figure, path)


# The colours of a race's ways, in their order. The last one is for the reader's own way.
_WAYS = (
    "#9a9a9a",
    "#e0a458",
    "#5f9e6e",
    "#8e6bb0",
    "#c4605a",
    "#4c6a92",
    "#8fb0d6",
    "#3b9c9c",
    "#111111",
)


def draw_race(path, title, ways, goal):
    """Draws accuracy against time and against bytes, and the results as a table. A way is (name,
    tests), and a test has seconds, megabytes and accuracy."""
    figure, (by_time, by_bytes, table) = pyplot.subplots(
        1, 3, figsize=(11, 4.2), width_ratios=(1, 1, 1.05), layout="constrained"
    )
    colours = dict(zip((name for name, _ in ways), _colours_of(len(ways)), strict=True))
    for name, tests in ways:
        for axes, key in ((by_time, "seconds"), (by_bytes, "megabytes")):
            _draw_way(axes, key, tests, goal, colours[name])
    for axes, x_name in ((by_time, "seconds of training"), (by_bytes, "MB that arrive at a host")):
        axes.axhline(100 * goal, color="#444444", linestyle=":", linewidth=1.2)
        axes.set_xlabel(x_name)
        axes.set_ylim(0, 100)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="#e6e6e6", linewidth=0.8)
        axes.set_axisbelow(True)
    by_time.set_xlim(0)
    by_time.set_ylabel("digits read right, %")
    by_bytes.set_xscale("log")
    by_bytes.xaxis.set_major_formatter("{x:g}")
    by_bytes.set_yticklabels([])
    _draw_table(table, sorted(ways, key=lambda way: _place_of(way[1], goal)), colours, goal)
    figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    _save(figure, path)


def _colours_of(count):
    """Returns the first colours, with the last colour for the last way."""
    return _WAYS[: count - 1] + _WAYS[-1:]


def _place_of(tests, goal):
    last = tests[-1]
    return (0, last["seconds"]) if last["accuracy"] >= goal else (1, -last["accuracy"])


def _draw_way(axes, key, tests, goal, colour):
    # A logarithmic axis has no place for the test before the first step.
    points = [each for each in tests if each[key] > 0]
    xs, ys = [each[key] for each in points], [100 * each["accuracy"] for each in points]
    axes.plot(xs, ys, color=colour, linewidth=1.8)
    if points and points[-1]["accuracy"] >= goal:
        axes.plot(xs[-1:], ys[-1:], "o", color=colour, markersize=6, clip_on=False)


def _draw_table(axes, ways, colours, goal):
    axes.set_axis_off()
    axes.set_xlim(0, 1)
    axes.set_ylim(len(ways) + 0.5, -1.5)
    for x, text in ((0.8, f"s to {100 * goal:g} %"), (1, "MB")):
        axes.text(x, -0.9, text, ha="right", va="center", fontsize=9, color="#666666")
    for row, (name, tests) in enumerate(ways):
        last = tests[-1]
        reached = last["accuracy"] >= goal
        axes.plot([0, 0.05], [row, row], color=colours[name], linewidth=3, clip_on=False)
        axes.text(0.08, row, name, va="center", fontsize=9)
        axes.text(
            0.8,
            row,
            f"{last['seconds']:.1f}" if reached else f"{100 * last['accuracy']:.0f} % only",
            ha="right",
            va="center",
            fontsize=9,
        )
        axes.text(
            1,
            row,
            f"{last['megabytes']:.{0 if last['megabytes'] >= 100 else 1}f}",
            ha="right",
            va="center",
            fontsize=9,
        )


def _save(figure, path):
    figure.savefig(path, dpi=130)
    print(f"picture: {path}")
