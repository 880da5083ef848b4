#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each check of tidy finds its bad snippet, and accepts the good one."""

import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import tidy_checks  # noqa: F401  Registers the checks.
from tidy_checks.picture import draw, read_table
from tidy_checks.repo import CHECKS, LICENCE_LINE, Repo, blank_comments

TOP = f"// {LICENCE_LINE}\n"


def run(name, files):
    """Findings of one check over a tree made of {path: text}, as 'path:line message'."""
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            target = pathlib.Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        check = next(c for c in CHECKS if c.name == name)
        return [f"{f.path}:{f.line} {f.message}" for f in sorted(check.function(Repo(folder)))]


class TidyTest(unittest.TestCase):
    def finds(self, name, files, part):
        found = run(name, files)
        self.assertTrue(any(part in line for line in found), f"{part!r} not in {found}")

    def accepts(self, name, files):
        self.assertEqual(run(name, files), [])

    def test_layers(self):
        tree = {"src/base/a.h": "", "src/core/b.h": "", "src/sim/c.h": "", "src/io/d.h": ""}
        self.accepts("layers", {**tree, "src/core/x.cc": '#include "base/a.h"\n'})
        self.accepts("layers", {**tree, "cli/x.cc": '#include "sim/c.h"\n#include "io/d.h"\n'})
        self.accepts("layers", {**tree, "src/core/x.cc": '// #include "sim/c.h"\n'})
        self.finds("layers", {**tree, "src/base/x.cc": '#include "core/b.h"\n'},
                   "src/base/x.cc:1 base may not include src/core/b.h")
        self.finds("layers", {**tree, "src/sim/x.cc": '#include "io/d.h"\n'}, "sim may not")
        self.finds("layers", {**tree, "include/infold/x.h": '#include "base/a.h"\n'}, "public may")
        self.finds("layers", {**tree, "src/core/x.cc": '#include "b.h"\n'}, "not a path below src/")
        self.finds("layers", {**tree, "cli/x.cc": '#include "src/core/b.h"\n'}, "without src/")

    def test_dead_files(self):
        lists = {"src/base/CMakeLists.txt": "infold_module(base)\n"}
        self.accepts("dead-files", {**lists, "src/base/a.h": "",
                                    "src/base/a.cc": '#include "base/a.h"\n'})
        self.finds("dead-files", {**lists, "src/base/a.h": ""}, "src/base/a.h:1 no file includes")
        self.finds("dead-files", {"src/lost/a.cc": ""}, "no CMakeLists.txt builds")
        self.accepts("dead-files", {"tools/a.bpf.c": "", "dev": "use it.py\n",
                                    "tools/it.py": 'SOURCE = "a.bpf.c"\n'})
        self.finds("dead-files", {"tools/a.bpf.c": ""}, "no CMakeLists.txt builds")
        self.finds("dead-files", {"tools/lost.py": ""}, "mentions this script")
        self.accepts("dead-files", {"tools/fmt.py": "", "dev": "fmt) run_tool fmt ;;\n"})

    def test_banned_calls(self):
        for folder, code, instead in (
                ("src/core", "  assert(x);", "CHECK"),
                ("src/core", "auto t = std::chrono::steady_clock::now();", "Instant"),
                ("src/sim", "std::unordered_map<int, int> m;", "sorted vector"),
                ("src/core", "std::shared_ptr<int> p;", "one owner"),
                ("src/plan", "int x = rand();", "Prng"),
                ("src/core", "std::mutex m;", "no threads"),
                ("src/rank", "auto t = std::chrono::system_clock::now();", "wall clock"),
                ("src/control", "const auto at = time(nullptr);", "wall clock"),
                ("cli", "return std::time(nullptr);", "wall clock"),
                ("cli", "::time(out);", "wall clock"),
                ("src/io", "gettimeofday(&now, nullptr);", "wall clock"),
                ("src/io", "clock_gettime(CLOCK_REALTIME, &now);", "wall clock"),
                ("src/io", "clock_gettime(CLOCK_REALTIME_COARSE, &now);", "wall clock"),
                ("src/control", "gpr_now(GPR_CLOCK_REALTIME);", "wall clock"),
                ("src/rank", 'printf("x");', "cli/line/output.h"),
                ("src/rank", "throw 1;", "Result"),
                ("bpf", "bpf_loop(4, each, &sum, 0);", "kernel_loop")):
            self.finds("banned-calls", {f"{folder}/x.cc": TOP + code}, instead)
        self.finds("banned-calls", {"src/io/x_test.cc": "sleep_for(1ms);"}, "virtual time")
        self.finds("banned-calls", {"src/control/x_test.cc": "system_clock::now();"}, "wall clock")
        self.accepts("banned-calls", {
            "src/io/host/clock.cc": "std::chrono::system_clock::now();",
            "src/io/x.cc": "steady_clock::now(); base::Duration time() const; least.time();\n"
                           "clock_gettime(CLOCK_MONOTONIC, &now); std::time_t seconds = 0;\n"
                           "time(packet, 1);",
            "tests/x_test.cc": "system_clock::now();"})
        self.accepts("banned-calls", {
            "src/core/x.cc": 'static_assert(1); CHECK(x); // assert(x)\nconst char* s = "rand()";',
            "src/rank/x.cc": "steady_clock::now();", "cli/x.cc": 'printf("x");',
            "src/core/x_test.cc": 'printf("x");'})

    def test_line_length(self):
        self.accepts("line-length", {"a.cc": "x" * 100 + "\n"})
        self.finds("line-length", {"a.cc": "x" * 101 + "\n"}, "a.cc:1 101 columns")

    def test_file_length(self):
        self.accepts("file-length", {"a.cc": "\n" * 400})
        self.finds("file-length", {"a.cc": "\n" * 401}, "nine files in ten")
        self.finds("file-length", {"a.cc": "\n" * 451}, "at most 450")

    def test_folder_size(self):
        files = {f"src/base/{number}.h": "" for number in range(25)}
        self.accepts("folder-size", {**files, "src/base/more/x.h": ""})
        self.finds("folder-size", {**files, "src/base/x.h": ""}, "src/base:1 26 files")

    def test_function_length(self):
        body = "  x();\n"
        for head in ("void f() {\n", "TEST(A, B) {\n", "A::A(int x) : x_(x), y_{1} {\n",
                     "auto f() const -> int {\n", "namespace a {\nclass B {\n  void f() const {\n",
                     'extern "C" int f(struct a* b) {\n'):
            close = "}\n" * head.count("{\n")
            self.accepts("function-length", {"a.cc": head + body * 70 + close})
            self.finds("function-length", {"a.cc": head + body * 71 + close}, "71 lines")
        self.accepts("function-length", {
            "a.cc": "namespace a {\nconst int kTable[] = {\n" + "1,\n" * 90 + "};\n}\n",
            "b.cc": "enum class A {\n" + "a,\n" * 90 + "};\n"})
        self.finds("function-length", {"a.py": "def f():\n" + "    x()\n" * 71}, "71 lines")
        self.accepts("function-length", {"a.py": "def f():\n" + "    x()\n" * 70 + "\ny()\n"})

    def test_beginnings(self):
        self.accepts("licence", {"a.cc": TOP, "dev": f"#!/bin/sh\n# {LICENCE_LINE}\n"})
        self.finds("licence", {"a.py": "import os\n"}, "a.py:1")
        good = TOP + "//\n// What this is and what it is not.\n#pragma once\n"
        self.accepts("opening-comment", {"a.h": good})
        self.finds("opening-comment", {"a.h": TOP + "#pragma once\n// Too late now.\n"}, "say")
        self.accepts("pragma-once", {"a.h": good})
        self.accepts("pragma-once", {"a.h": "#ifndef INFOLD_A_H\n#define INFOLD_A_H\n"})
        self.finds("pragma-once", {"a.h": TOP}, "no #pragma once")

    def test_words(self):
        self.finds("markers", {"a.md": "a\nTO" "DO: b\n"}, "a.md:2")
        self.accepts("markers", {"a.md": "a todo list\n"})
        self.finds("promises", {"a.md": "Trees are not yet " "implemented.\n"}, "describe what is")
        self.finds("machine-paths", {"a.md": "see /ho" "me/someone/x\n"}, "one machine")
        self.accepts("machine-paths", {"a.md": "https://a.org/ho" "me/x and ./wo" "rk/x\n"})

    def test_links(self):
        page = {"docs/b.md": "# Some `Title`, here\n"}
        self.accepts("links", {**page, "a.md": "[x](docs/b.md#some-title-here) [y](https://z)"})
        self.finds("links", {**page, "a.md": "[x](docs/c.md)"}, "leads nowhere")
        self.finds("links", {**page, "a.md": "[x](docs/b.md#other)"}, "no heading")

    def test_commands(self):
        tree = {"dev": "  demo     build\n",
                "cli/d.cc": '"--seed"; name() const override { return "demo"; }'
                            'name() const override { return "bench core"; }'}
        self.accepts("commands", {**tree, "README.md": "`./dev demo --seed 1` `infold bench core`"
                                                       "\n    build/release/infold demo --json\n"})
        self.finds("commands", {**tree, "README.md": "`./dev dmeo`"}, "no command dmeo")
        self.finds("commands", {**tree, "README.md": "`infold sim`"}, "no subcommand sim")
        self.finds("commands", {**tree, "docs/a.md": "```\n./dev demo --sede 1\n```\n"},
                   "docs/a.md:2 no command here has the option --sede")
        self.accepts("commands", {**tree, "README.md": "infold lets switches add.\n"})

    def test_dependencies(self):
        table = "| Package | Why |\n|---|---|\n| `g++` | compiles |\n"
        self.accepts("dependencies", {"tools/packages.txt": "# x\nbuild g++\n",
                                      "docs/dependencies.md": table})
        self.finds("dependencies", {"tools/packages.txt": "build g++\ntest cmake\n",
                                    "docs/dependencies.md": table}, "cmake has no row")
        self.finds("dependencies", {"tools/packages.txt": "",
                                    "docs/dependencies.md": table}, "g++ is not in")

    def test_picture(self):
        page = ("# B\n\n## Beside Gloo's ring\n\n"
                "| ranks | bfp32 | bfp8 | command |\n|---|---|---|---|\n"
                "| 8 ranks | 1.78x | 6.75x | A |\n| 4 < 8 ranks | 0.42x | | C |\n\n## Other\n")
        formats, cases = read_table(page)
        self.assertEqual(formats, ["bfp32", "bfp8"])
        self.assertEqual(cases, [("8 ranks", {"bfp32": 1.78, "bfp8": 6.75}),
                                 ("4 < 8 ranks", {"bfp32": 0.42})])
        svg = draw(formats, cases)
        xml.etree.ElementTree.fromstring(svg)
        self.assertTrue(all(text in svg for text in (">6.75x<", ">0.42x<", "4 &lt; 8 ranks")))
        files = {"docs/benchmarks.md": page, "docs/pictures/against-gloo.svg": svg}
        self.accepts("picture", files)
        self.finds("picture", {**files, "docs/benchmarks.md": page.replace("0.42x", "0.43x")},
                   "does not show the table")
        self.finds("picture", {"docs/benchmarks.md": page}, "does not show the table")
        self.finds("picture", {"docs/benchmarks.md": "# B\n"}, "no table")

    def test_rules(self):
        tree = {"spec/protocol.md": "**R-001** A.\n", "spec/vectors/a.vec": "# R-001 a\n"}
        self.accepts("rules", {**tree, "src/a.cc": "// R-001\n"})
        self.finds("rules", {**tree, "src/a.cc": "// R-002\n"}, "R-002 is not stated")
        self.finds("rules", {**tree, "spec/protocol.md": "**R-001** A. **R-003** B.\n"},
                   "R-003 has no vector")

    def test_blank_comments_keeps_lines_and_code(self):
        text = "a; // b\n/* c\n d */ e('\\'', \"f // g\"); 1'000;\nR\"x(h)x\";\n"
        blank = blank_comments(text)
        self.assertEqual(blank.count("\n"), text.count("\n"))
        for word in ("b", "c", "d", "f", "g", "h"):
            self.assertNotRegex(blank, rf"\b{word}\b")
        for word in ("a;", "e(", "1'000;"):
            self.assertIn(word, blank)


if __name__ == "__main__":
    unittest.main()
