// SPDX-License-Identifier: Apache-2.0
//
// The pipeline that only adds (core::Adder) as a plane.
#pragma once

#include <optional>

#include "core/adder/adder.h"
#include "tests/conformance/planes/plane.h"

namespace infold::conformance {

class AdderPlane final : public Plane {
 public:
  explicit AdderPlane(core::Adder::Controller controller = core::Adder::Controller::acts_at_once)
      : controller_(controller) {}

  std::string configure(const PlaneJob& job) override;
  void inject(std::span<const std::byte> datagram, From from = From::worker,
              std::uint16_t port = 1) override;
  std::vector<Outgoing> collect() override;
  std::optional<std::string> drop_reason() override;

  core::Verdict verdict() const { return verdict_; }
  // The packets that the last datagram made the pipeline send, unchanged.
  const std::vector<Outgoing>& sent() const { return sent_; }

 private:
  core::Adder::Controller controller_;
  std::vector<Outgoing> sent_;
  bool names_by_ranges_ = true;
  std::optional<core::Adder> adder_;
  core::Verdict verdict_ = core::Verdict::contributed;
};

}  // namespace infold::conformance
