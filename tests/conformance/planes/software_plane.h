// SPDX-License-Identifier: Apache-2.0
//
// The C++ aggregator as a plane. If a job has ports, the aggregator is behind a socket.
#pragma once

#include <optional>

#include "core/aggregator/aggregator.h"
#include "tests/conformance/planes/plane.h"
#include "tests/conformance/planes/site_plane.h"

namespace infold::conformance {

// The options select the scalar loops.
core::AggregatorOptions aggregator_options(const PlaneJob& job);

class SoftwarePlane final : public Plane {
 public:
  // If the pointer is null, the scalar loops add.
  explicit SoftwarePlane(const core::Arithmetic* arithmetic) : arithmetic_(arithmetic) {}

  std::string configure(const PlaneJob& job) override;
  void inject(std::span<const std::byte> datagram, From from = From::worker,
              std::uint16_t port = 1) override;
  std::vector<Outgoing> collect() override;
  std::optional<std::string> drop_reason() override;

 private:
  const core::Arithmetic* arithmetic_;
  std::optional<core::Aggregator> aggregator_;
  std::size_t workers_ = 0;
  std::optional<SitePlane> site_;  // in place of `aggregator_` if the job has ports
  core::Verdict verdict_ = core::Verdict::contributed;
};

}  // namespace infold::conformance
