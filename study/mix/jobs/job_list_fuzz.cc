// SPDX-License-Identifier: Apache-2.0
//
// Reads any text as a list of jobs. Writing the list and reading it again must not change it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "study/mix/jobs/job_list.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace infold;
  const auto jobs = mix::read_jobs({reinterpret_cast<const char*>(data), size});
  if (!jobs) {
    CHECK(!jobs.error().reason.empty());
    return 0;
  }
  CHECK(!jobs->empty());
  const auto again = mix::read_jobs(mix::write_jobs(*jobs));
  CHECK(again && *again == *jobs);
  return 0;
}
