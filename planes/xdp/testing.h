// SPDX-License-Identifier: Apache-2.0
//
// Supports tests that attach programs. Each test has its own namespaces with a pair of interfaces,
// and is skipped without the privilege. The process stays in the last test's namespaces.
#pragma once

#include <cstdlib>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "planes/xdp/attach/host_check.h"
#include "planes/xdp/attach/interface.h"

namespace infold::xdp::testing {

class OwnNamespace : public ::testing::Test {
 protected:
  void SetUp() override {
    // This test has its own interfaces and its own pins.
    if (geteuid() != 0 || unshare(CLONE_NEWNET | CLONE_NEWNS) != 0) GTEST_SKIP() << "needs root";
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount("bpf", "/sys/fs/bpf", "bpf", 0, nullptr), 0);
    if (std::system("ip link add near type veth peer name far") != 0) {
      GTEST_SKIP() << "the kernel refuses veth";
    }
    if (const auto able = check_host(); !able) GTEST_SKIP() << able.error();
    near_ = *find_interface("near");
  }

  Interface near_;
};

}  // namespace infold::xdp::testing
