# SPDX-License-Identifier: Apache-2.0
"""The README's picture is drawn from a table of docs/benchmarks.md, so the two cannot differ.

tools/draw_picture.py writes the picture. ./dev tidy compares the file with the table.
"""

import math
import re
from xml.sax.saxutils import escape

from tidy_checks.repo import Finding, check

PAGE = "docs/benchmarks.md"
HEADING = "## Beside Gloo's ring"
PICTURE = "docs/pictures/against-gloo.svg"
UPDATE = "tools/draw_picture.py"

WIDTH, LEFT, RIGHT, TOP = 880, 300, 840, 98
# The legend describes each format with its text.
NOTES = {
    "native": "native, the default: rounded once",
    "bfp16": "bfp16: rounds more",
    "bfp8": "bfp8: rounds most",
}
LEGEND_WIDTHS = (300, 200, 160)
BAR, GAP = 20, 18
LOW, HIGH = 0.25, 8  # the axis's ends; its steps are factors of two
STYLE = """<style>
  .page { fill: #ffffff; } text { fill: #1d2433; } .dim { fill: #5b6b8c; }
  .bar0 { fill: #c2571a; } .bar1 { fill: #3b6fb5; } .bar2 { fill: #1a7f5a; }
  .line { stroke: #c9d1e0; } .one { stroke: #1d2433; stroke-width: 1.6; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #12161f; } text { fill: #e8ecf5; } .dim { fill: #9fb0d3; }
    .bar0 { fill: #f0a06a; } .bar1 { fill: #7fb0f0; } .bar2 { fill: #6fd3ac; }
    .line { stroke: #2c3648; } .one { stroke: #e8ecf5; }
  }
</style>"""


def read_table(page):
    """Returns the formats, and (case, {format: ratio}) for each row. Empty cells have no ratio."""
    section = page.partition(HEADING + "\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section.splitlines()
        if line.startswith("|")
    ]
    if len(rows) < 3:
        return [], []
    formats = [name for name in rows[0][1:] if name in NOTES]
    cases = []
    for cells in rows[2:]:
        ratios = {}
        for name, cell in zip(formats, cells[1:], strict=False):
            found = re.fullmatch(r"([0-9.]+)x", cell)
            if found:
                ratios[name] = float(found.group(1))
        cases.append((cells[0], ratios))
    return formats, cases


def x_of(ratio):
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LOW) / math.log(HIGH / LOW)


def draw(formats, cases):
    """Draws bars from 1x to each ratio: to the right where infold is faster, else to the left."""
    bars = [len(ratios) for _, ratios in cases]
    bottom = TOP + sum(bars) * BAR + len(cases) * GAP
    height = bottom + 62
    title = "Gloo's time divided by infold's, 25 MiB of f32"
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        f'font-family="system-ui, sans-serif" font-size="14" role="img" '
        f'aria-label="{escape(title)}">',
        STYLE,
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        f'<text x="24" y="30" font-size="17" font-weight="600">{escape(title)}</text>',
        '<text x="24" y="52" class="dim">right of 1x infold is faster than Gloo&apos;s ring, '
        "left of 1x slower; each line doubles the one before</text>",
        '<text x="24" y="72" class="dim">ranks, links and switch are namespaces of one machine '
        "with two cores</text>",
    ]
    for step in range(round(math.log2(HIGH / LOW)) + 1):
        ratio = LOW * 2**step
        kind = "one" if ratio == 1 else "line"
        out.append(
            f'<line class="{kind}" x1="{x_of(ratio):.1f}" y1="{TOP}" '
            f'x2="{x_of(ratio):.1f}" y2="{bottom}"/>'
        )
        out.append(
            f'<text x="{x_of(ratio):.1f}" y="{bottom + 18}" text-anchor="middle" '
            f'class="dim">{ratio:g}x</text>'
        )
    y = TOP + GAP / 2
    for case, ratios in cases:
        middle = y + len(ratios) * BAR / 2 + 5
        out.append(
            f'<text x="{LEFT - 14}" y="{middle:.1f}" text-anchor="end">{escape(case)}</text>'
        )
        for name, ratio in ratios.items():
            begin, end = sorted((x_of(1), x_of(ratio)))
            out.append(
                f'<rect class="bar{formats.index(name)}" x="{begin:.1f}" y="{y + 2:.1f}" '
                f'width="{max(end - begin, 2):.1f}" height="{BAR - 4}"/>'
            )
            anchor, at = ("start", end + 6) if ratio >= 1 else ("end", begin - 6)
            out.append(
                f'<text x="{at:.1f}" y="{y + BAR / 2 + 5:.1f}" text-anchor="{anchor}">'
                f"{ratio:.2f}x</text>"
            )
            y += BAR
        y += GAP
    x = 24
    for index, name in enumerate(formats):
        out.append(f'<rect class="bar{index}" x="{x}" y="{height - 26}" width="16" height="12"/>')
        out.append(f'<text x="{x + 22}" y="{height - 15}">{escape(NOTES[name])}</text>')
        x += LEGEND_WIDTHS[index]
    return "\n".join([*out, "</svg>", ""])


@check("picture", f"{PICTURE} shows the table below '{HEADING}' in {PAGE}")
def picture(repo):
    if not repo.exists(PAGE):
        return
    formats, cases = read_table(repo.text(PAGE))
    if not cases:
        yield Finding(PAGE, 1, f"no table below '{HEADING}'")
    elif not repo.exists(PICTURE) or repo.text(PICTURE) != draw(formats, cases):
        yield Finding(PICTURE, 1, f"does not show the table of {PAGE}; run {UPDATE}")
