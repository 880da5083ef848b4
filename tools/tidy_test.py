#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that each check of tidy finds its bad snippet, and accepts the good one."""

import pathlib
import tempfile
import unittest
import xml.etree.ElementTree

import tidy_checks  # noqa: F401  registers the checks
from tidy_checks.picture import draw, read_table
from tidy_checks.repo import CHECKS, LICENCE_LINE, Repo, blank_comments

TOP = f"// {LICENCE_LINE}\n"


def run(name, files):
    """Returns a check's findings in a tree made of {path: text}, as 'path:line message'."""
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
        tree = {"src/base/a.h": "", "src/core/b.h": "", "study/sim/c.h": "", "src/io/d.h": ""}
        self.accepts("layers", {**tree, "src/core/x.cc": '#include "base/a.h"\n'})
        self.accepts(
            "layers", {**tree, "cli/x.cc": '#include "study/sim/c.h"\n#include "io/d.h"\n'}
        )
        self.accepts("layers", {**tree, "src/core/x.cc": '// #include "sim/c.h"\n'})
        self.finds(
            "layers",
            {**tree, "src/base/x.cc": '#include "core/b.h"\n'},
            "src/base/x.cc:1 base may not include src/core/b.h",
        )
        self.finds("layers", {**tree, "study/sim/x.cc": '#include "io/d.h"\n'}, "sim may not")
        self.finds(
            "layers",
            {**tree, "src/io/x.cc": '#include "study/sim/c.h"\n'},
            "io may not include study/sim/c.h",
        )
        self.finds("layers", {**tree, "include/infold/x.h": '#include "base/a.h"\n'}, "public may")
        self.finds("layers", {**tree, "src/core/x.cc": '#include "b.h"\n'}, "not a path below src/")
        self.finds("layers", {**tree, "cli/x.cc": '#include "src/core/b.h"\n'}, "without src/")

    def test_dead_files(self):
        lists = {"src/base/CMakeLists.txt": "infold_module(base)\n"}
        self.accepts(
            "dead-files", {**lists, "src/base/a.h": "", "src/base/a.cc": '#include "base/a.h"\n'}
        )
        self.finds("dead-files", {**lists, "src/base/a.h": ""}, "src/base/a.h:1 no file includes")
        self.finds("dead-files", {"src/lost/a.cc": ""}, "no CMakeLists.txt builds")
        self.accepts(
            "dead-files",
            {"tools/a.bpf.c": "", "dev": "use it.py\n", "tools/it.py": 'SOURCE = "a.bpf.c"\n'},
        )
        self.finds("dead-files", {"tools/a.bpf.c": ""}, "no CMakeLists.txt builds")
        self.finds("dead-files", {"tools/lost.py": ""}, "mentions this script")
        self.accepts("dead-files", {"tools/fmt.py": "", "dev": "fmt) run_tool fmt ;;\n"})

    def test_banned_calls(self):
        for folder, code, instead in (
            ("src/core", "  assert(x);", "CHECK"),
            ("src/core", "auto t = std::chrono::steady_clock::now();", "Instant"),
            ("study/sim", "std::unordered_map<int, int> m;", "sorted vector"),
            ("src/core", "std::shared_ptr<int> p;", "one owner"),
            ("src/plan", "int x = rand();", "Prng"),
            ("src/core", "base::Mutex m;", "no threads"),
            ("src/core", "std::thread t;", "no threads"),
            ("src/rank", "std::mutex m;", "base::Mutex"),
            ("src/rank", "const std::lock_guard lock(m);", "base::Mutex"),
            ("tests", "std::shared_mutex m;", "base::Mutex"),
            ("cli", "std::condition_variable_any c;", "base::Mutex"),
            ("python/backend", "std::unique_lock lock(m);", "base::Mutex"),
            ("src/rank", "auto t = std::chrono::system_clock::now();", "wall clock"),
            ("src/join", "const auto at = time(nullptr);", "wall clock"),
            ("cli", "return std::time(nullptr);", "wall clock"),
            ("cli", "::time(out);", "wall clock"),
            ("src/io", "gettimeofday(&now, nullptr);", "wall clock"),
            ("src/io", "clock_gettime(CLOCK_REALTIME, &now);", "wall clock"),
            ("src/io", "clock_gettime(CLOCK_REALTIME_COARSE, &now);", "wall clock"),
            ("src/join", "gpr_now(GPR_CLOCK_REALTIME);", "wall clock"),
            ("src/rank", 'printf("x");', "cli/line/output.h"),
            ("src/rank", "throw 1;", "Result"),
            ("src/site", 'return Refusal{full, "no room", -1};', "the table of all refusals"),
            ("planes/p4", "return {join::RefusalReason::full, why, -1};", "the table of all"),
            ("planes/xdp/bpf", "bpf_loop(4, each, &sum, 0);", "kernel_loop"),
        ):
            self.finds("banned-calls", {f"{folder}/x.cc": TOP + code}, instead)
        self.finds("banned-calls", {"src/io/x_test.cc": "sleep_for(1ms);"}, "virtual time")
        self.finds("banned-calls", {"src/join/x_test.cc": "system_clock::now();"}, "wall clock")
        self.accepts(
            "banned-calls",
            {
                "src/io/host/clock.cc": "std::chrono::system_clock::now();",
                "src/base/mutex.h": "#pragma once\nstd::mutex m; steady_clock::time_point t;",
                "src/join/x.cc": "base::Mutex m; const base::MutexLock lock(m); std::once_flag f;",
                "src/io/x.cc": "steady_clock::now(); base::Duration time() const; least.time();\n"
                "clock_gettime(CLOCK_MONOTONIC, &now); std::time_t seconds = 0;\n"
                "time(packet, 1);",
                "tests/x_test.cc": "system_clock::now();",
            },
        )
        self.accepts(
            "banned-calls",
            {
                "src/core/x.cc": "static_assert(1); CHECK(x); // assert(x)\n"
                'const char* s = "rand()";',
                "src/rank/x.cc": "steady_clock::now(); Refusal why = refusal(kFull); Refusal{};",
                "src/join/x.h": "#pragma once\nstruct Refusal {\n  int rank = -1;\n};",
                "cli/x.cc": 'printf("x");',
                "src/core/x_test.cc": 'printf("x");',
            },
        )

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
        for head in (
            "void f() {\n",
            "TEST(A, B) {\n",
            "A::A(int x) : x_(x), y_{1} {\n",
            "auto f() const -> int {\n",
            "namespace a {\nclass B {\n  void f() const {\n",
            'extern "C" int f(struct a* b) {\n',
        ):
            close = "}\n" * head.count("{\n")
            self.accepts("function-length", {"a.cc": head + body * 70 + close})
            self.finds("function-length", {"a.cc": head + body * 71 + close}, "71 lines")
        self.accepts(
            "function-length",
            {
                "a.cc": "namespace a {\nconst int kTable[] = {\n" + "1,\n" * 90 + "};\n}\n",
                "b.cc": "enum class A {\n" + "a,\n" * 90 + "};\n",
            },
        )
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
        self.finds("markers", {"a.md": "a\nTODO: b\n"}, "a.md:2")
        self.accepts("markers", {"a.md": "a todo list\n"})
        self.accepts("suppressions", {"a.py": "import x  # noqa: F401  registers itself\n"})
        self.finds("suppressions", {"a.py": f"import x  # {'noqa'}: F401\n"}, "give the reason")
        self.finds("suppressions", {"a.py": f"import x  # {'noqa'}\n"}, "name the rule")
        self.finds("suppressions", {"a.cc": f"x();  // {'NOLINT'}(a)\n"}, "nothing is found")
        unchecked = "void f() NO_THREAD_SAFETY_ANALYSIS;\n"
        self.accepts("suppressions", {"a.h": "// The two ends are apart.\n" + unchecked})
        self.finds("suppressions", {"a.h": unchecked}, "why clang cannot follow")
        late, place = "yet", "home"  # Written whole, these would be findings.
        self.finds("promises", {"a.md": f"Trees are not {late} implemented.\n"}, "describe what is")
        self.finds("machine-paths", {"a.md": f"see /{place}/someone/x\n"}, "one machine")
        self.accepts("machine-paths", {"a.md": "https://a.org/home/x and ./work/x\n"})

    def test_standard_headers(self):
        uses = "int f() { return std::min(1, 2); }\n"
        self.finds("std-headers", {"src/base/a.cc": uses}, "a.cc:1 std::min is of <algorithm>")
        self.accepts("std-headers", {"src/base/a.cc": "#include <algorithm>\n" + uses})
        self.accepts("std-headers", {"src/base/a.cc": "// std::min(1, 2)\n"})
        header = {"src/base/a.h": "#include <algorithm>\n"}
        self.accepts("std-headers", {**header, "src/base/a.cc": '#include "base/a.h"\n' + uses})

    def test_comments(self):
        for text, part in (
            ("// Of a rank\n", "a.cc:1 'Of ...' begins a fragment"),
            ("int a;  // those of a rank\n", "a.cc:1 'those ...' begins a fragment"),
            ('log("it is no place");\n', "a.cc:1 'is no place': say 'is not'"),
            ("\n// It is\n// no pointer.\n", "a.cc:2 'is no pointer': say 'is not'"),
            ("// It waits, too.\n", "'waits, too': say 'also'"),
        ):
            self.finds("comments", {"a.cc": text}, part)
        self.finds("comments", {"a.py": "a = 1  # As in b\n"}, "a.py:1 'As in ...'")
        self.finds("comments", {"a.md": "It waits, too.\n"}, "a.md:1 'waits, too': say 'also'")
        self.accepts("comments", {"a.cc": "// There is no copy. It is no longer here.\n"})
        self.accepts("comments", {"a.cc": '// Offers it.\nlog("// Of a");\n', "a.md": "Of a\n"})

    def test_banned_words(self):
        heading = "## Words that infold does not use\n"
        glossary = {"docs/glossary.md": f"{heading}| `peer` | *rank* or *rival* |\n"}
        for name, text in (
            ("a.cc", "int peer = 0;"),
            ("a.h", "class PeerTable;"),
            ("a.py", "late_peers = 1"),
            ("a.md", "It waits for a peer."),
            ("CMakeLists.txt", "option(INFOLD_PEERS)"),
        ):
            self.finds("words", {**glossary, name: text}, f"{name}:1 'peer' is banned: say rank or")
        self.finds("words", {**glossary, "src/peer_limits.h": ""}, "src/peer_limits.h:1 'peer'")
        self.accepts(
            "words",
            {
                **glossary,
                "a.py": "raise TypeError",
                "a.cc": "SSL_VERIFY_PEER; SO_PEERCRED; ::getpeername(socket);",
                "a.md": "ip link add a type veth peer name b",
            },
        )
        allowed = {**glossary, "tools/tidy_checks/words.py": ""}
        self.finds("words", allowed, "nothing needs the allowed use")

    def test_links(self):
        page = {"docs/b.md": "# Some `Title`, here\n"}
        self.accepts("links", {**page, "a.md": "[x](docs/b.md#some-title-here) [y](https://z)"})
        self.finds("links", {**page, "a.md": "[x](docs/c.md)"}, "leads nowhere")
        self.finds("links", {**page, "a.md": "[x](docs/b.md#other)"}, "no heading")

    def test_commands(self):
        tree = {
            "dev": "  demo     build\n",
            "cli/d.cc": '"--seed"; name() const override { return "demo"; }'
            'name() const override { return "bench core"; }',
        }
        self.accepts(
            "commands",
            {
                **tree,
                "README.md": "`./dev demo --seed 1` `infold bench core`"
                "\n    build/release/infold demo --json\n",
            },
        )
        self.finds("commands", {**tree, "README.md": "`./dev dmeo`"}, "no command dmeo")
        self.finds("commands", {**tree, "README.md": "`infold sim`"}, "no subcommand sim")
        self.finds(
            "commands",
            {**tree, "docs/a.md": "```\n./dev demo --sede 1\n```\n"},
            "docs/a.md:2 no command here has the option --sede",
        )
        self.accepts("commands", {**tree, "README.md": "infold lets switches add.\n"})

    def test_dependencies(self):
        table = "| Package | Why |\n|---|---|\n| `g++` | compiles |\n"
        self.accepts(
            "dependencies",
            {"tools/packages.txt": "# x\nbuild g++\n", "docs/dependencies.md": table},
        )
        self.finds(
            "dependencies",
            {"tools/packages.txt": "build g++\ntest cmake\n", "docs/dependencies.md": table},
            "cmake has no row",
        )
        self.finds(
            "dependencies",
            {"tools/packages.txt": "", "docs/dependencies.md": table},
            "g++ is not in",
        )

    def test_picture(self):
        page = (
            "# B\n\n## Beside Gloo's ring\n\n"
            "| ranks | native | bfp8 | command |\n|---|---|---|---|\n"
            "| 8 ranks | 1.78x | 6.75x | A |\n| 4 < 8 ranks | 0.42x | | C |\n\n## Other\n"
        )
        formats, cases = read_table(page)
        self.assertEqual(formats, ["native", "bfp8"])
        self.assertEqual(
            cases, [("8 ranks", {"native": 1.78, "bfp8": 6.75}), ("4 < 8 ranks", {"native": 0.42})]
        )
        svg = draw(formats, cases)
        xml.etree.ElementTree.fromstring(svg)
        self.assertTrue(all(text in svg for text in (">6.75x<", ">0.42x<", "4 &lt; 8 ranks")))
        files = {"docs/benchmarks.md": page, "docs/pictures/against-gloo.svg": svg}
        self.accepts("picture", files)
        self.finds(
            "picture",
            {**files, "docs/benchmarks.md": page.replace("0.42x", "0.43x")},
            "does not show the table",
        )
        self.finds("picture", {"docs/benchmarks.md": page}, "does not show the table")
        self.finds("picture", {"docs/benchmarks.md": "# B\n"}, "no table")

    def test_rules(self):
        tree = {"spec/protocol.md": "**R-001** A.\n", "spec/vectors/a.vec": "# R-001 a\n"}
        self.accepts("rules", {**tree, "src/a.cc": "// R-001\n"})
        self.finds("rules", {**tree, "src/a.cc": "// R-002\n"}, "R-002 is not stated")
        self.finds(
            "rules",
            {**tree, "spec/protocol.md": "**R-001** A. **R-003** B.\n"},
            "R-003 has no vector",
        )

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
