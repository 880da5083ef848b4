// SPDX-License-Identifier: Apache-2.0
//
// Tests infold switch in a program that links no plane besides user space.

#include <vector>

#include <gtest/gtest.h>

#include "cli/switch/plane.h"
#include "cli/switch/switch_testing.h"

namespace infold::cli {
namespace {

TEST(AbsentPlanes, AreNamedByAnyOptionThatAsksForThem) {
  const std::vector<Refusal> refusals = {
      {{"--plane", "xdp"}, "--plane xdp: this program sums in user space alone; ./dev build"},
      {{"--plane", "xdp", "--dev", "eth0", "--listen", "10.0.0.1:7700"}, "--plane xdp: this"},
      {{"--dev", "eth0"}, "--plane xdp: this program"},
      {{"--pin"}, "--plane xdp: this program"},
      {{"--plane", "p4"}, "--plane p4: this program"},
      {{"--p4runtime", "127.0.0.1:9559"}, "--plane p4: this program"},
      {{"--plane", "p4", "--target", "tofino"}, "--plane p4: this program"},
  };
  expect_refused([] { return make_switch_command({}); }, refusals);
}

}  // namespace
}  // namespace infold::cli
