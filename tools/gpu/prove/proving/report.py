# SPDX-License-Identifier: Apache-2.0
"""Writes what a run finds: prove.json, which is complete after every step, and prove.log with all
output."""

import json
import sys
import time


class Report:
    def __init__(self, folder, about):
        self.log = open(folder / "prove.log", "w", encoding="utf-8")
        self._path = folder / "prove.json"
        self._run = {
            "about": about,
            "started": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            "complete": False,
            "machine": {},
            "steps": [],
        }
        self._begun = 0.0
        self._write()

    @property
    def failed(self):
        return any(step["status"] in ("failed", "timed out") for step in self._run["steps"])

    def _write(self):
        text = json.dumps(self._run, indent=1) + "\n"
        new = self._path.with_suffix(".new")
        new.write_text(text, "utf-8")
        new.replace(self._path)

    def _say(self, text):
        print(text, flush=True)
        self.log_line(text)

    def log_line(self, line):
        self.log.write(line + "\n")
        self.log.flush()

    def describe(self, machine):
        self._run["machine"] = machine
        for name, value in machine.items():
            self._say(f"{name}: {value if isinstance(value, str) else json.dumps(value)}")
        self._write()

    def begin(self, name, profile):
        self._begun = time.monotonic()
        self._run["steps"].append(
            {"name": name, "profile": profile, "status": "running", "figures": []}
        )
        self.log_line(f"\n== {profile}: {name}")
        self._write()

    def figure(self, figure):
        self._run["steps"][-1]["figures"].append(figure)
        self._write()

    def end(self, status, reason):
        step = self._run["steps"][-1]
        step |= {
            "status": status,
            "reason": reason,
            "seconds": round(time.monotonic() - self._begun, 1),
        }
        note = f": {reason}" if reason else ""
        self._say(f"{status:9} {step['profile']}: {step['name']}, {step['seconds']} s{note}")
        self._write()

    def skip(self, name, profile, reason):
        self._run["steps"].append(
            {
                "name": name,
                "profile": profile,
                "status": "skipped",
                "reason": reason,
                "seconds": 0,
                "figures": [],
            }
        )
        self._say(f"skipped   {profile}: {name}: {reason}")
        self._write()

    def close(self, complete):
        for step in self._run["steps"]:
            if step["status"] == "running":
                step |= {"status": "stopped", "reason": "stopped on request"}
        self._run["complete"] = complete
        self._write()
        count = {
            status: sum(step["status"] in names for step in self._run["steps"])
            for status, names in (
                ("passed", ("passed",)),
                ("failed", ("failed", "timed out")),
                ("skipped", ("skipped", "stopped")),
            )
        }
        self._say(", ".join(f"{number} {status}" for status, number in count.items()))
        if self.failed:
            print(f"prove: all output is in {self.log.name}", file=sys.stderr)
        self.log.close()
