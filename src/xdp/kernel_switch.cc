// SPDX-License-Identifier: Apache-2.0
//
// Claims, loads, attaches, listens; and at its end all that backwards.
#include "xdp/kernel_switch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "io/clock.h"
#include "io/entropy.h"
#include "runtime/switch_server.h"
#include "xdp/host_check.h"

namespace infold::xdp {
namespace {

constexpr std::uint32_t kJobsMax = 64;
constexpr std::uint32_t kUdpBytes = 8;

std::uint32_t header_bytes(const io::SocketAddress& address) {
  return (address.is_ipv6() ? 40 : 20) + kUdpBytes;
}

Attempt<std::vector<Interface>> find_interfaces(const std::vector<std::string>& names) {
  std::vector<Interface> found;
  for (const std::string& name : names) {
    Attempt<Interface> interface = find_interface(name);
    if (!interface) return cannot(interface.error());
    found.push_back(std::move(*interface));
  }
  return found;
}

// What every interface carries and the program sums, as a datagram.
std::uint32_t largest_datagram(const std::vector<Interface>& interfaces,
                               const KernelSwitchOptions& options) {
  std::uint32_t packet = options.packet_bytes_max;
  for (const Interface& each : interfaces) packet = std::min(packet, each.mtu);
  const std::uint32_t headers = header_bytes(options.listen);
  return std::min<std::uint32_t>(packet > headers ? packet - headers : 0,
                                 INFOLD_XDP_DATAGRAM_BYTES_MAX);
}

base::Result<Program> load(const std::vector<Interface>& interfaces,
                           const KernelSwitchOptions& options, std::uint32_t datagram_bytes_max) {
  ProgramOptions program;
  program.addresses = {options.listen};
  program.jobs_max = kJobsMax;
  program.slots_max = options.slots;
  program.datagram_bytes_max = datagram_bytes_max;
  program.elements_max = datagram_bytes_max;
  const bool some_veth = std::any_of(interfaces.begin(), interfaces.end(),
                                     [](const Interface& each) { return each.is_veth(); });
  program.grows = !some_veth;
  program.bounces = !some_veth;
  return Program::load(program);
}

std::string text_of(const base::Error& error) {
  return std::string(error.where) + ": " + error.detail;
}

}  // namespace

Attempt<std::unique_ptr<KernelSwitch>> KernelSwitch::start(const KernelSwitchOptions& options) {
  const Attempt<std::vector<Interface>> interfaces = find_interfaces(options.interfaces);
  if (!interfaces) return cannot(interfaces.error());
  if (const Attempt<void> able = check_host(); !able) return cannot(able.error());
  std::vector<Claim> claims;
  for (const Interface& each : *interfaces) {
    Attempt<Claim> claim = Claim::take(each);
    if (!claim) return cannot(claim.error());
    claims.push_back(std::move(*claim));
  }
  io::UdpOptions udp;
  udp.bind = options.listen;
  // A socket that takes trains would have the kernel couple packets that carry notes.
  udp.offload = false;
  base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
  if (!socket) return cannot(options.listen.text() + ": " + socket.error().detail);
  KernelSwitchOptions settled = options;
  settled.listen = socket->local_address();

  const std::uint32_t datagram_bytes_max = largest_datagram(*interfaces, settled);
  base::Result<Program> program = load(*interfaces, settled, datagram_bytes_max);
  if (!program) return cannot(text_of(program.error()));
  std::unique_ptr<KernelSwitch> made(
      new KernelSwitch(settled, std::move(claims), std::move(*program), std::move(*socket)));
  made->datagram_bytes_max_ = datagram_bytes_max;
  const AttachOptions attach = {.packets_program = made->program_.packets_program(),
                                .ingress_program = made->program_.ingress_program(),
                                .pin = options.pin};
  for (const Interface& each : *interfaces) {
    Attempt<Attachment> attachment = Attachment::attach(each, attach);
    if (!attachment) return cannot(attachment.error());
    made->ports_.push_back({each, std::move(*attachment), LinkState::up});
  }
  const io::SocketAddress& listen = options.control.is_set() ? options.control : settled.listen;
  auto control = control::ControlServer::start(listen, made->registry_);
  if (!control) return cannot(text_of(control.error()));
  made->control_ = std::move(*control);
  return made;
}

KernelSwitch::KernelSwitch(const KernelSwitchOptions& options, std::vector<Claim> claims,
                           Program program, io::UdpSocket socket)
    : options_(options),
      claims_(std::move(claims)),
      program_(std::move(program)),
      socket_(std::move(socket)),
      registry_(this, io::fresh_number()) {}

// Jobs are told over both planes before anything goes away.
KernelSwitch::~KernelSwitch() {
  control_.reset();
  const std::lock_guard lock(mutex_);
  for (const auto& [job, epoch] : jobs_)
    tell(job, epoch, {core::AbortReason::stopped, 0, 0, {}, {}});
}

std::vector<control::SiteAddress> KernelSwitch::sites() const {
  return {{options_.listen.text(), 0}};
}

control::Answer<void> KernelSwitch::start_job(const control::JobTerms& terms) {
  const std::lock_guard lock(mutex_);
  const base::Result<void> added = program_.add_job(runtime::aggregator_options(terms));
  if (!added) {
    return tl::unexpected(control::Refusal{
        control::RefusalReason::full,
        "the switch " + std::string(added.error().detail) + "; wait for the end of another job",
        -1});
  }
  jobs_[terms.job] = terms.epoch;
  return {};
}

void KernelSwitch::end_job(std::uint16_t job, const core::Abort& abort) {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(job);
  if (found != jobs_.end()) tell(job, found->second, abort);
}

// What was on its way through the program must not find the slots of another job in its hands.
void KernelSwitch::forget_job(std::uint16_t job) {
  const std::lock_guard lock(mutex_);
  if (jobs_.erase(job) == 0) return;
  program_.close_job(job);
  if (!Program::wait_for_packets()) return;  // then they stay unused
  program_.remove_job(job);
}

// once to everybody who has been heard of. Whoever misses it asks, and the program repeats.
void KernelSwitch::tell(std::uint16_t job, std::uint32_t epoch, const core::Abort& abort) {
  const std::optional<infold_abort> kept = program_.end_job(job, abort);
  if (!kept) return;
  core::Header header;
  header.kind = core::Kind::aborted;
  header.job = job;
  header.epoch = epoch;
  std::array<std::byte, INFOLD_HEADER_BYTES + sizeof(infold_abort)> datagram;
  core::write_header(header, datagram);
  std::memcpy(datagram.data() + INFOLD_HEADER_BYTES, &*kept, sizeof(*kept));
  for (const Place& place : program_.places(job)) {
    if (!place.address.is_set()) continue;
    const std::array<io::SocketAddress, 1> to = {place.address};
    socket_.send(to, datagram);
    socket_.flush();
  }
}

}  // namespace infold::xdp
