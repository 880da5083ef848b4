#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests which kernel ./dev kernel takes, and how it reads the output of the virtual machine."""

import unittest

import kernel

PASSED = """6.1.0-56-cloud-amd64\r
[       OK ] XdpPlane.RunsEveryVector (50071 ms)\r
[  PASSED  ] 1 test.\r
infold-kernel: ended with 0\r
"""


class KernelTest(unittest.TestCase):
    def test_takes_the_newest_of_the_series(self):
        names = [
            "linux-image-6.1.0-9-cloud-amd64",
            "linux-image-6.1.0-56-cloud-amd64",
            "linux-image-6.1.0-57-cloud-amd64-unsigned",
            "linux-image-6.1.0-58-amd64",
            "linux-image-6.12.100+deb12-cloud-amd64",
            "linux-image-6.12-cloud-amd64",
            "linux-image-6.12.99+deb12-cloud-amd64",
        ]
        self.assertEqual(kernel.newest("6.1", names), "linux-image-6.1.0-56-cloud-amd64")
        self.assertEqual(kernel.newest("6.12", names), "linux-image-6.12.100+deb12-cloud-amd64")
        self.assertIsNone(kernel.newest("6.6", names))

    def test_believes_only_an_end_with_all_passed(self):
        self.assertEqual(kernel.judge(PASSED), (True, "1 passed, 0 failed, 0 skipped"))
        skipped = "[  SKIPPED ] XdpFrames.AProbe (0 ms)\r\n" + PASSED
        self.assertEqual(kernel.judge(skipped), (False, "1 passed, 0 failed, 1 skipped"))
        failed = PASSED.replace("     OK", "FAILED ").replace("with 0", "with 1")
        self.assertEqual(kernel.judge(failed), (False, "0 passed, 1 failed, 0 skipped"))
        self.assertFalse(kernel.judge(PASSED.replace("with 0", "with 1"))[0])
        self.assertFalse(kernel.judge(PASSED.replace("infold-kernel", "Kernel panic"))[0])
        self.assertFalse(kernel.judge("infold-kernel: ended with 0\r\n")[0])

    def test_takes_the_modules_of_interfaces(self):
        folder = "./lib/modules/6.1.0-56-cloud-amd64/kernel/"
        self.assertEqual(kernel.module_of(f"{folder}drivers/net/veth.ko"), "veth")
        self.assertEqual(kernel.module_of(f"{folder}net/sched/cls_bpf.ko.xz"), "cls_bpf")
        self.assertIsNone(kernel.module_of(f"{folder}net/sched/cls_basic.ko"))
        self.assertIsNone(kernel.module_of("./usr/share/doc/veth"))


if __name__ == "__main__":
    unittest.main()
