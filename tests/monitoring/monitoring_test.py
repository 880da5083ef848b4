#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares packaging/monitoring/ with a running switch. The switch's page must have every metric
that rules and dashboard name. promtool must accept the page, the rules with their tests, and the
dashboard's queries.

Usage: monitoring_test.py INFOLD names | promtool
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "network"))
from metrics import parse
from processes import PATIENCE, SHORT_THEN_LONG, Job, free_port, wait_for_sums

MONITORING = ROOT / "packaging" / "monitoring"
RULES = MONITORING / "infold.rules.yml"
SKIPPED = 77
# Prometheus itself makes this metric.
OF_PROMETHEUS = {"up"}


def find_promtool():
    """Returns the path where ./dev puts promtool, or where it is installed, or None."""
    ours = ROOT / "build" / "promtool" / "promtool"
    return str(ours) if os.access(ours, os.X_OK) else shutil.which("promtool")


def page_of_a_running_job():
    with Job(BINARY) as job:
        port, page = free_port(), free_port()
        job.start_switch(port, "--metrics", f"127.0.0.1:{page}")
        words = ("--switch", f"127.0.0.1:{port}", "--job", "runs", *SHORT_THEN_LONG)
        ranks = [job.start_rank(rank, 2, *words, host=str(rank)) for rank in range(2)]
        wait_for_sums(ranks[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{page}/metrics", timeout=PATIENCE) as answer:
            return answer.read().decode()


def rules():
    """Returns [(kind, name, expression)] of the file, whose form is kept simple for this."""
    text = re.sub(
        r">-\n((?: {10}.*\n)+)",
        lambda m: " ".join(m[1].split()) + "\n",
        RULES.read_text(encoding="utf-8"),
    )
    return re.findall(r"- (record|alert): (\S+)\n\s+expr: (.+)\n", text)


def panels():
    return json.loads((MONITORING / "grafana-dashboard.json").read_text("utf-8"))["panels"]


def queries():
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def names_in(expression):
    """Returns {metric: {(label, operator, value)}} of the selectors of a query."""
    found = {}
    for name, matchers in re.findall(r"\b((?:infold|up)[\w:]*)(?:\{([^}]*)\})?", expression):
        found.setdefault(name, set()).update(
            re.findall(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"', matchers)
        )
    return found


class Names(unittest.TestCase):
    """Every metric and label that a query names is on the page."""

    @classmethod
    def setUpClass(cls):
        cls.samples = parse(page_of_a_running_job())
        cls.recorded = {name for kind, name, _ in rules() if kind == "record"}

    def check(self, expression, may_use_recorded):
        for name, matchers in names_in(expression).items():
            if name in OF_PROMETHEUS or (may_use_recorded and name in self.recorded):
                continue
            self.assertIn(name, self.samples, expression)
            labels = [dict(labels) for labels in self.samples[name]]
            self.assertTrue(labels, f"{name} has no samples")
            for label, operator, value in matchers:
                if label == "instance":  # Prometheus adds this label
                    continue
                values = {each.get(label) for each in labels}
                fits = {v for v in values if v is not None and re.fullmatch(value, v)}
                self.assertTrue(fits, f"{label}{operator}{value} fits nothing: {expression}")

    def test_of_the_rules(self):
        self.assertEqual(len(rules()), RULES.read_text("utf-8").count("expr:"))
        for _, _, expression in rules():
            self.check(expression, True)

    def test_of_the_dashboard(self):
        self.assertGreater(len(queries()), 15)
        for expression in queries():
            self.check(expression, True)

    def test_every_metric_is_in_the_dashboard(self):
        shown = {name for expression in queries() for name in names_in(expression)}
        self.assertEqual(set(self.samples) - shown, set())

    def test_every_rule_has_a_test_and_alerts_say_what_to_do(self):
        text = RULES.read_text(encoding="utf-8")
        tests = (MONITORING / "infold.rules.test.yml").read_text(encoding="utf-8")
        for kind, name, _ in rules():
            self.assertIn(name, tests)
            if kind == "alert":
                block = text.partition(f"alert: {name}\n")[2].partition("- alert:")[0]
                self.assertRegex(block, r"summary: .+\n\s+description: .+")

    def test_panels_do_not_overlap(self):
        cells, numbers = set(), [panel["id"] for panel in panels()]
        self.assertEqual(len(numbers), len(set(numbers)))
        for panel in panels():
            at = panel["gridPos"]
            own = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            self.assertFalse(own & cells, panel["title"])
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            self.assertTrue(panel["description"].endswith("."), panel["title"])
            cells |= own


class Promtool(unittest.TestCase):
    def run_tool(self, *words, said=None, folder=MONITORING):
        result = subprocess.run(
            [PROMTOOL, *words],
            input=said,
            cwd=folder,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.assertEqual(result.returncode, 0, result.stdout)
        return result.stdout

    def test_takes_the_page_of_a_switch(self):
        self.assertEqual(self.run_tool("check", "metrics", said=page_of_a_running_job()), "")

    def test_takes_the_rules_and_runs_their_tests(self):
        self.run_tool("check", "rules", "--lint-fatal", RULES.name)
        self.run_tool("test", "rules", "infold.rules.test.yml")

    def test_sees_a_rule_that_is_wrong(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in MONITORING.glob("*.yml"):
                text = path.read_text(encoding="utf-8")
                pathlib.Path(folder, path.name).write_text(
                    text.replace("infold_slots_used / infold_slots", "infold_slots"), "utf-8"
                )
            with self.assertRaises(AssertionError):
                self.run_tool("test", "rules", "infold.rules.test.yml", folder=folder)

    def test_takes_the_queries_of_the_dashboard(self):
        with tempfile.TemporaryDirectory() as folder:
            as_rules = [
                {"record": f"query:{i}", "expr": query.replace("$__rate_interval", "1m")}
                for i, query in enumerate(queries())
            ]
            pathlib.Path(folder, "queries.yml").write_text(
                json.dumps({"groups": [{"name": "queries", "rules": as_rules}]}), "utf-8"
            )
            self.run_tool("check", "rules", "queries.yml", folder=folder)


if __name__ == "__main__":
    BINARY, PART = sys.argv[1:]
    PROMTOOL = find_promtool()
    if PART == "promtool" and not PROMTOOL:
        print("promtool is missing; ./dev test fetches it where apt-get download works")
        sys.exit(SKIPPED)
    unittest.main(argv=sys.argv[:1], defaultTest={"names": "Names", "promtool": "Promtool"}[PART])
