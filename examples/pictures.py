# SPDX-License-Identifier: Apache-2.0
"""The pictures of the examples."""

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402

COMPUTING = "#4c6a92"
WAITING = "#e0a458"


def draw_bars(path, title, bars, bound_s=None, bound_text=""):
    """The parts of a step's time. A bar is (name, seconds of computing, seconds of the step)."""
    figure, axes = pyplot.subplots(figsize=(7.5, 1.5 + 0.55 * len(bars)), layout="constrained")
    for row, (name, computing, whole) in enumerate(bars):
        waiting = max(0, whole - computing)
        axes.barh(row, computing, color=COMPUTING, height=0.55,
                  label="computing" if row == 0 else None)
        axes.barh(row, waiting, left=computing, color=WAITING, height=0.55,
                  label="waiting for the network" if row == 0 else None)
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


def _save(figure, path):
    figure.savefig(path, dpi=130)
    print(f"picture: {path}")
