// SPDX-License-Identifier: Apache-2.0
//
// The packet program as a plane. It is loaded into the kernel, and the kernel's test-run gives it
// one frame at a time. It is not attached to an interface, so no packet leaves. The action, and the
// note before the packet, name the receiver.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planes/xdp/program/program.h"
#include "tests/conformance/planes/plane.h"

namespace infold::conformance {

// The reasons to refuse a job. Ranks are told them when they join.
inline constexpr const char* kRangesOnly = "the packet program names missing ranks as ranges";
inline constexpr const char* kWholeChunksOnly = "the packet program takes whole chunks only";
inline constexpr const char* kNoNative = "the packet program sums no native in trees";

class XdpPlane final : public Plane {
 public:
  // Returns the program that all cases share, because loading takes a second, or another one for a
  // driver whose frames do not grow. Returns null if this process cannot run it on this machine;
  // `why_not` then has the reason.
  static XdpPlane* shared(std::string* why_not, bool grows = true);

  explicit XdpPlane(xdp::Program program);

  std::string configure(const PlaneJob& job) override;
  void inject(std::span<const std::byte> datagram, From from = From::worker,
              std::uint16_t port = 1) override;
  std::vector<Outgoing> collect() override { return std::move(sent_); }
  std::optional<std::string> drop_reason() override;

  // Says whether all frames from now on are IPv6.
  void use_ipv6(bool yes) { ipv6_ = yes; }
  bool uses_ipv6() const { return ipv6_; }
  // How many answers were too long for the frame.
  std::size_t went_up() const { return went_up_; }
  xdp::Program& program() { return program_; }
  // Adds another job beside the configured one. Frames of either may be injected. A job without a
  // parent sums native elements of the types that the program supports.
  void add(const core::AggregatorOptions& options, const site::Neighbours& neighbours = {});
  void remove_all();
  // Injects a whole frame, valid or not.
  void inject_frame(std::span<const std::byte> frame);
  std::vector<std::byte> frame_of(std::span<const std::byte> datagram, From from = From::worker,
                                  std::uint16_t port = 1) const;
  // The counters that the last frame raised, by the names of xdp::counter_name.
  std::string verdict() const;

 private:
  static std::unique_ptr<XdpPlane> load(bool grows, std::string& why_not);
  void take(std::span<const std::byte> frame, const infold_xdp_note& note);
  void send(Outgoing::To to, std::uint8_t worker, std::span<const std::byte> frame);
  const core::AggregatorOptions& job_of(std::span<const std::byte> frame) const;
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
