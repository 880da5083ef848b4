// SPDX-License-Identifier: Apache-2.0
//
// The packet program as a plane: loaded into the kernel and given one frame at a time by the
// kernel's test-run. Attached to nothing, so no packet leaves; to whom a packet would go is read
// from the action and from the note before it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/conformance/planes/plane.h"
#include "xdp/program/program.h"

namespace infold::conformance {

// Why it refuses jobs whose packets may leave out blocks; ranks are told so when they join.
inline constexpr const char* kRangesOnly = "the packet program names missing ranks as ranges";
inline constexpr const char* kWholeChunksOnly = "the packet program takes whole chunks only";

class XdpPlane final : public Plane {
 public:
  // One program for all cases, since loading takes a second; or one for a driver whose frames do
  // not grow. Null where this process on this machine cannot; `why_not` then says what is missing.
  static XdpPlane* shared(std::string* why_not, bool grows = true);

  explicit XdpPlane(xdp::Program program);

  std::string configure(const PlaneJob& job) override;
  void inject(std::span<const std::byte> datagram, From from = From::worker,
              std::uint16_t port = 1) override;
  std::vector<Outgoing> collect() override { return std::move(sent_); }
  std::optional<std::string> drop_reason() override;

  // All frames from here on are of IPv6.
  void use_ipv6(bool yes) { ipv6_ = yes; }
  bool uses_ipv6() const { return ipv6_; }
  // Answers that were too long for the frame.
  std::size_t went_up() const { return went_up_; }
  xdp::Program& program() { return program_; }
  // Another job beside the configured one; frames of either may be injected.
  void add(const core::AggregatorOptions& options, const site::Neighbours& neighbours = {});
  void remove_all();
  // The same for a whole frame, right or wrong.
  void inject_frame(std::span<const std::byte> frame);
  std::vector<std::byte> frame_of(std::span<const std::byte> datagram, From from = From::worker,
                                  std::uint16_t port = 1) const;
  // What the last frame was counted as, by the names of xdp::counter_name.
  std::string verdict() const;

 private:
  static std::unique_ptr<XdpPlane> load(bool grows, std::string& why_not);
  void take(std::span<const std::byte> frame, const infold_xdp_note& note);
  void send(Outgoing::To to, std::uint8_t worker, std::span<const std::byte> frame);
  std::uint16_t port_in(std::span<const std::byte> frame, std::uint8_t worker) const;

  xdp::Program program_;
  xdp::Counters before_{};
  xdp::Counters after_{};
  std::vector<core::AggregatorOptions> jobs_;
  std::vector<Outgoing> sent_;
  bool ipv6_ = false;
  std::optional<std::uint16_t> job_with_ports_;
  std::size_t went_up_ = 0;
};

}  // namespace infold::conformance
