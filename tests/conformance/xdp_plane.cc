// SPDX-License-Identifier: Apache-2.0
//
// Frames in, actions and notes out.
#include "tests/conformance/xdp_plane.h"

#include <cerrno>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "xdp/frame.h"

namespace infold::conformance {
namespace {

constexpr char kAggregator4[] = "10.0.0.1:7700";
constexpr char kWorker4[] = "10.0.0.2:9000";
constexpr char kAggregator6[] = "[fd00::1]:7700";
constexpr char kWorker6[] = "[fd00::2]:9000";
constexpr std::uint32_t kPass = 2;  // enum xdp_action

io::SocketAddress address(const char* text) {
  const auto parsed = io::SocketAddress::parse(text, "test");
  CHECK(parsed.has_value());
  return *parsed;
}

// What the parent gets of a packet that ends a job: the same reason, as ABORT.
std::vector<std::byte> abort_for_parent(std::vector<std::byte> datagram, std::uint8_t worker) {
  datagram.at(1) = std::byte{INFOLD_VERSION << 4 | INFOLD_KIND_ABORT};
  datagram.at(2) = std::byte{0};
  datagram.at(3) = std::byte{worker};
  return datagram;
}

}  // namespace

std::unique_ptr<XdpPlane> XdpPlane::load(bool grows, std::string& why_not) {
  xdp::ProgramOptions options;
  options.addresses = {address(kAggregator4), address(kAggregator6)};
  options.datagram_bytes_max = INFOLD_XDP_DATAGRAM_BYTES_MAX;
  options.elements_max = INFOLD_XDP_ELEMENTS_MAX;
  options.slots_max = 512;
  options.grows = grows;
  options.can_fill = true;
  std::string log;
  options.log = &log;
  auto program = xdp::Program::load(options);
  if (program) return std::make_unique<XdpPlane>(std::move(*program));
  why_not = program.error().detail;
  // A verifier that refuses what we wrote is our bug, not this machine's lack.
  if (log.find("BEGIN PROG LOAD LOG") != std::string::npos) {
    const std::size_t shown = std::min<std::size_t>(log.size(), 4000);
    why_not = "refused: " + log.substr(log.size() - shown);
  }
  return nullptr;
}

XdpPlane* XdpPlane::shared(std::string* why_not, bool grows) {
  static std::string reasons[2];
  static std::unique_ptr<XdpPlane> planes[2];
  const std::size_t which = grows ? 1 : 0;
  if (planes[which] == nullptr && reasons[which].empty()) {
    planes[which] = load(grows, reasons[which]);
  }
  *why_not = reasons[which];
  return planes[which].get();
}

XdpPlane::XdpPlane(xdp::Program program) : program_(std::move(program)) {}

void XdpPlane::add(const core::AggregatorOptions& options) {
  const auto added = program_.add_job(options);
  CHECK(added.has_value());
  std::erase_if(jobs_, [&](const auto& job) { return job.job == options.job; });
  jobs_.push_back(options);
}

void XdpPlane::remove_all() {
  for (const core::AggregatorOptions& old : jobs_) program_.remove_job(old.job);
  jobs_.clear();
}

std::string XdpPlane::configure(const PlaneJob& job) {
  if (job.datagram_bytes_max > INFOLD_XDP_DATAGRAM_BYTES_MAX) {
    return "the packet program takes no datagrams larger than a page";
  }
  remove_all();
  core::AggregatorOptions options;
  options.job = job.job;
  options.epoch = job.epoch;
  options.slot_count = job.slots;
  options.world = job.world;
  for (const Ranks& ranks : job.workers) {
    options.workers.push_back(
        {static_cast<std::uint16_t>(ranks.first), static_cast<std::uint16_t>(ranks.count)});
  }
  options.parent_worker = job.parent_worker;
  options.datagram_bytes_max = job.datagram_bytes_max;
  options.elements_max = job.elements_max;
  add(options);
  return "";
}

std::vector<std::byte> XdpPlane::frame_of(std::span<const std::byte> datagram) const {
  static const xdp::FrameAddresses v4 = {address(kWorker4), address(kAggregator4)};
  static const xdp::FrameAddresses v6 = {address(kWorker6), address(kAggregator6)};
  return xdp::make_frame(ipv6_ ? v6 : v4, datagram);
}

void XdpPlane::inject(std::span<const std::byte> datagram) { inject_frame(frame_of(datagram)); }

void XdpPlane::inject_frame(std::span<const std::byte> frame) {
  sent_.clear();
  before_ = program_.counters();
  const auto run = program_.test_run(frame);
  CHECK(run.has_value());
  after_ = program_.counters();
  CHECK_THAT(run->action, !=, 0U);  // XDP_ABORTED: a jump failed, or a bound that cannot be passed
  if (run->note.magic == 0) return;
  CHECK_THAT(run->note.magic, ==, INFOLD_XDP_NOTE_MAGIC);
  std::vector<std::byte> answer = run->frame;
  if (run->action == kPass) {  // too short: the rest of its way is the ingress's
    const auto filled = program_.fill_run(run->frame, run->note);
    CHECK(filled.has_value());
    answer = *filled;
    ++went_up_;
  }
  const auto datagram = xdp::read_frame(answer);
  CHECK(datagram.has_value());
  take(run->note, *datagram);
}

void XdpPlane::take(const infold_xdp_note& note, std::span<const std::byte> datagram) {
  infold_header header;
  CHECK_THAT(datagram.size(), >=, sizeof(header));
  std::memcpy(&header, datagram.data(), sizeof(header));
  const std::vector<std::byte> bytes(datagram.begin(), datagram.end());
  const std::uint32_t to = note.to;
  if ((to & INFOLD_XDP_TO_WORKER) != 0) sent_.push_back({Outgoing::To::worker, note.worker, bytes});
  if ((to & INFOLD_XDP_TO_ALL) != 0) sent_.push_back({Outgoing::To::all_workers, 0, bytes});
  if ((to & INFOLD_XDP_TO_PARENT) == 0) return;
  if (to == INFOLD_XDP_TO_PARENT) {
    sent_.push_back({Outgoing::To::parent, 0, bytes});
    return;
  }
  for (const core::AggregatorOptions& job : jobs_) {
    if (job.job != infold_from_be16(header.job)) continue;
    sent_.push_back({Outgoing::To::parent, 0, abort_for_parent(bytes, *job.parent_worker)});
  }
}

std::string XdpPlane::verdict() const {
  std::string name;
  for (std::size_t i = 0; i < after_.size(); ++i) {
    for (std::uint64_t n = before_[i]; n < after_[i]; ++n) {
      if (!name.empty()) name += " and ";
      name += xdp::counter_name(i);
    }
  }
  return name;
}

std::optional<std::string> XdpPlane::drop_reason() {
  const std::string name = verdict();
  // Probes are left to the socket at the same port, and are no packets of a job.
  if (name == "passed_probe") return "malformed";
  const std::string prefix = "dropped_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

}  // namespace infold::conformance
