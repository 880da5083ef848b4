// SPDX-License-Identifier: Apache-2.0
//
// Training jobs as text. Each line has a job's submission time, its model, its workers and its
// iterations. The reader accepts spaces, comments, empty lines and both kinds of line ends.
//
//   # seconds, model, workers, iterations
//   0.0, BERT-large, 8, 10
//   1.5, vgg-16, 4, 20
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "study/mix/program/layers.h"
#include "study/mix/program/table_text.h"

namespace infold::mix {

struct JobSpec {
  double submit_s = 0;
  const Model* model = nullptr;
  std::uint16_t workers = 1;
  std::uint32_t iterations = 1;

  friend bool operator==(const JobSpec&, const JobSpec&) = default;
};

inline constexpr std::size_t kJobsMax = 1'000;
inline constexpr std::uint16_t kWorkersOfJobMax = 4'096;
inline constexpr std::uint32_t kIterationsMax = 10'000;
inline constexpr double kSubmitSecondsMax = 1e6;

// Returns the jobs in the order of submission. Jobs submitted at the same moment keep the text's
// order. The jobs point to models in `known`.
tl::expected<std::vector<JobSpec>, BadLine> read_jobs(std::string_view text,
                                                      std::span<const Model> known = models());
// Writes text that read_jobs() reads with the same models.
std::string write_jobs(std::span<const JobSpec> jobs);

}  // namespace infold::mix
