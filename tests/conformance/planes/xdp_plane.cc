// SPDX-License-Identifier: Apache-2.0
//
// Puts frames into the program, and reads its actions and notes.
#include "tests/conformance/planes/xdp_plane.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/check.h"
#include "planes/xdp/program/frame.h"
#include "tests/conformance/planes/software_plane.h"

namespace infold::conformance {
namespace {

constexpr char kAggregator4[] = "10.0.0.1:7700";
constexpr char kWorker4[] = "10.0.0.2:9000";
constexpr char kParent4[] = "10.0.0.3:7700";
constexpr char kElsewhere4[] = "10.0.0.4:9000";
constexpr char kAggregator6[] = "[fd00::1]:7700";
constexpr char kWorker6[] = "[fd00::2]:9000";
constexpr char kParent6[] = "[fd00::3]:7700";
constexpr char kElsewhere6[] = "[fd00::4]:9000";
constexpr std::uint32_t kAborted = 0;  // enum xdp_action
constexpr std::uint32_t kDrop = 1;
constexpr std::uint32_t kPass = 2;

io::SocketAddress address(const char* text) {
  const auto parsed = io::SocketAddress::parse(text, "test");
  CHECK(parsed.has_value());
  return *parsed;
}

std::vector<std::byte> datagram_of(std::span<const std::byte> frame) {
  auto datagram = xdp::read_frame(frame);
  CHECK(datagram.has_value());
  return std::move(*datagram);
}

std::size_t datagram_at(std::span<const std::byte> frame) {
  return frame[12] == std::byte{0x86} ? 14 + 40 + 8 : 14 + 20 + 8;
}

// Returns the sender's number, which the header has.
std::uint8_t worker_in(std::span<const std::byte> frame) {
  const std::size_t at = datagram_at(frame) + offsetof(infold_header, worker);
  return std::to_integer<std::uint8_t>(frame[at]);
}

// The ports of a worker are consecutive.
constexpr std::uint16_t kPortsOfAWorker = 2;
std::uint16_t port_of(std::uint8_t worker, std::uint16_t port) {
  return static_cast<std::uint16_t>(9000 + worker * kPortsOfAWorker + port - 1);
}

}  // namespace

std::unique_ptr<XdpPlane> XdpPlane::load(bool grows, std::string& why_not) {
  xdp::ProgramOptions options;
  options.addresses = {address(kAggregator4), address(kAggregator6)};
  options.datagram_bytes_max = INFOLD_XDP_DATAGRAM_BYTES_MAX;
  options.elements_max = INFOLD_XDP_ELEMENTS_MAX;
  options.slots_max = 512;
  options.grows = grows;
  options.bounces = grows;
  options.can_fill = true;
  std::string log;
  options.log = &log;
  auto program = xdp::Program::load(options);
  if (program) return std::make_unique<XdpPlane>(std::move(*program));
  why_not = program.error().detail;
  // If the verifier refuses our program, that is our bug and not a lack of the machine.
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

void XdpPlane::add(const core::AggregatorOptions& options, const site::Neighbours& neighbours) {
  const auto added = program_.add_job(options, neighbours, !options.parent_worker);
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
  const core::SiteRecord can = program_.record();
  if (job.sparse && !can.takes_sparse) return kWholeChunksOnly;
  if (job.pending_bits && !can.sends_bits) return kRangesOnly;
  const bool is_tree = job.parent_worker || std::any_of(job.workers.begin(), job.workers.end(),
                                                        [](Ranks each) { return each.count > 1; });
  if (job.native && is_tree) return kNoNative;
  remove_all();
  job_with_ports_ = job.ports ? std::optional(job.job) : std::nullopt;
  site::Neighbours neighbours;
  if (job.parent_worker) neighbours.parent = address(ipv6_ ? kParent6 : kParent4);
  neighbours.workers.resize(job.workers.size(), address(ipv6_ ? kWorker6 : kWorker4));
  add(aggregator_options(job), neighbours);
  return "";
}

std::vector<std::byte> XdpPlane::frame_of(std::span<const std::byte> datagram, From from,
                                          std::uint16_t port) const {
  const char* source = ipv6_ ? kWorker6 : kWorker4;
  if (from == From::parent) source = ipv6_ ? kParent6 : kParent4;
  if (from == From::elsewhere) source = ipv6_ ? kElsewhere6 : kElsewhere4;
  io::SocketAddress own = address(source);
  constexpr std::size_t kWorkerAt = offsetof(infold_header, worker);
  if (from == From::worker && job_with_ports_ && datagram.size() > kWorkerAt) {
    own.set_port(port_of(std::to_integer<std::uint8_t>(datagram[kWorkerAt]), port));
  }
  return xdp::make_frame({own, address(ipv6_ ? kAggregator6 : kAggregator4)}, datagram);
}

void XdpPlane::inject(std::span<const std::byte> datagram, From from, std::uint16_t port) {
  inject_frame(frame_of(datagram, from, port));
}

void XdpPlane::inject_frame(std::span<const std::byte> frame) {
  sent_.clear();
  before_ = program_.counters();
  const auto run = program_.test_run(frame);
  CHECK(run.has_value());
  after_ = program_.counters();
  CHECK_THAT(run->action, !=, kAborted);  // a failed tail call, or an impossible bound
  if (run->action == kDrop) return;
  // Vectors are about an aggregator whose host answers probes. Here the program is both.
  if (verdict() == "answered_probe") return;
  if (run->action != kPass || run->note.to == INFOLD_XDP_TO_SENDER) {
    send(Outgoing::To::worker, worker_in(frame), run->frame);
    return;
  }
  if (run->note.magic == 0) return;
  CHECK_THAT(run->note.magic, ==, INFOLD_XDP_NOTE_MAGIC);
  went_up_ += run->note.in_packet == 0 ? 1 : 0;
  take(run->frame, run->note);
}

void XdpPlane::take(std::span<const std::byte> frame, const infold_xdp_note& note) {
  const auto filled = [&](std::uint32_t member) {
    const auto run = program_.ingress_run(frame, note, member);
    CHECK(run.has_value());
    return *run;
  };
  // A worker that has sent nothing gets no packet.
  std::vector<xdp::Place> places;
  if (job_with_ports_) places = program_.places(*job_with_ports_);
  const auto is_known = [&](std::size_t worker) {
    return places.empty() || places.at(worker).address.is_set();
  };
  if ((note.to & INFOLD_XDP_TO_WORKER) != 0 && is_known(note.worker)) {
    send(Outgoing::To::worker, note.worker, filled(note.worker));
  }
  const bool is_to_all = (note.to & INFOLD_XDP_TO_ALL) != 0;
  // The workers get their packets one by one if one of them may get a different packet.
  const core::AggregatorOptions& job = job_of(frame);
  for (std::size_t worker = 0; worker < job.workers.size(); ++worker) {
    if (!is_to_all || !job.brief_results || !places.empty()) break;
    const auto number = static_cast<std::uint8_t>(worker);
    send(Outgoing::To::worker, number, filled(number));
  }
  if (is_to_all && !job.brief_results && places.empty()) {
    send(Outgoing::To::all_workers, 0, filled(0));
  }
  for (std::size_t worker = 0; worker < places.size(); ++worker) {
    if ((note.to & INFOLD_XDP_TO_ALL) == 0 || !is_known(worker)) continue;
    const auto number = static_cast<std::uint8_t>(worker);
    send(Outgoing::To::worker, number, filled(number));
  }
  for (std::uint32_t worker = 0; worker < INFOLD_WORKERS_MAX; ++worker) {
    if ((note.to & (INFOLD_XDP_TO_ASKING | INFOLD_XDP_TO_ASKING_FOR_END)) == 0) break;
    const auto run = program_.ingress_run(frame, note, worker);
    if (run.has_value() && is_known(worker)) {
      send(Outgoing::To::worker, static_cast<std::uint8_t>(worker), *run);
    }
  }
  if ((note.to & INFOLD_XDP_TO_PARENT) != 0) {
    send(Outgoing::To::parent, 0, filled(INFOLD_XDP_PARENT));
  }
}

const core::AggregatorOptions& XdpPlane::job_of(std::span<const std::byte> frame) const {
  const auto number = core::named_job(frame.subspan(datagram_at(frame)));
  CHECK(number.has_value());
  const auto job = std::find_if(jobs_.begin(), jobs_.end(),
                                [&](const auto& each) { return each.job == *number; });
  CHECK(job != jobs_.end());
  return *job;
}

void XdpPlane::send(Outgoing::To to, std::uint8_t worker, std::span<const std::byte> frame) {
  Outgoing& out = sent_.emplace_back();
  out.to = to;
  out.worker = worker;
  if (to == Outgoing::To::worker) out.port = port_in(frame, worker);
  out.datagram = datagram_of(frame);
}

// Returns which port of the worker the frame goes to, or 0 if it goes to none of them.
std::uint16_t XdpPlane::port_in(std::span<const std::byte> frame, std::uint8_t worker) const {
  if (!job_with_ports_) return 1;
  const std::size_t at = datagram_at(frame) - 6;
  const int target = std::to_integer<int>(frame[at]) << 8 | std::to_integer<int>(frame[at + 1]);
  for (std::uint16_t port = 1; port <= kPortsOfAWorker; ++port) {
    if (target == port_of(worker, port)) return port;
  }
  return 0;
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
  if (name == "answered_probe") return "malformed";
  const std::string prefix = "dropped_";
  return name.starts_with(prefix) ? name.substr(prefix.size()) : std::string();
}

}  // namespace infold::conformance
