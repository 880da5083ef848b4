// SPDX-License-Identifier: Apache-2.0
//
// Claims the interfaces, loads and attaches the program, and listens. The destructor undoes these
// steps in reverse order.
#include "planes/xdp/kernel_switch.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "join/job_plan.h"
#include "join/refusals.h"
#include "join/registry/job_registry.h"
#include "join/relay/rack_relay.h"
#include "planes/xdp/attach/host_check.h"
#include "switch/uplink.h"

namespace infold::xdp {
namespace {

constexpr std::uint32_t kJobsMax = 64;
constexpr std::uint32_t kUdpBytes = 8;

std::uint32_t header_bytes(const io::SocketAddress& address) {
  return (address.is_ipv6() ? 40 : 20) + kUdpBytes;
}

base::Attempt<std::vector<Interface>> find_interfaces(const std::vector<std::string>& names) {
  std::vector<Interface> found;
  for (const std::string& name : names) {
    base::Attempt<Interface> interface = find_interface(name);
    if (!interface) return base::cannot("--dev: " + interface.error());
    found.push_back(std::move(*interface));
  }
  return found;
}

// The longest datagram that every interface carries and the program can sum.
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

base::Attempt<std::unique_ptr<KernelSwitch>> KernelSwitch::start(
    const KernelSwitchOptions& options) {
  const base::Attempt<std::vector<Interface>> interfaces = find_interfaces(options.interfaces);
  if (!interfaces) return base::cannot(interfaces.error());
  if (const base::Attempt<void> able = check_host(); !able) return base::cannot(able.error());
  std::vector<Claim> claims;
  for (const Interface& each : *interfaces) {
    base::Attempt<Claim> claim = Claim::take(each);
    if (!claim) return base::cannot(claim.error());
    claims.push_back(std::move(*claim));
  }
  io::UdpOptions udp;
  udp.bind = options.listen;
  // If the socket received trains, the kernel would coalesce packets that carry notes.
  udp.offload = false;
  base::Result<io::UdpSocket> socket = io::UdpSocket::open(udp);
  if (!socket)
    return base::cannot("--listen " + options.listen.text() + ": " + socket.error().detail);
  KernelSwitchOptions settled = options;
  settled.listen = socket->local_address();

  const std::uint32_t datagram_bytes_max = largest_datagram(*interfaces, settled);
  base::Result<Program> program = load(*interfaces, settled, datagram_bytes_max);
  if (!program) return base::cannot(text_of(program.error()));
  std::unique_ptr<KernelSwitch> made(
      new KernelSwitch(settled, std::move(claims), std::move(*program), std::move(*socket)));
  made->datagram_bytes_max_ = datagram_bytes_max;
  const AttachOptions attach = {.packets_program = made->program_.packets_program(),
                                .ingress_program = made->program_.ingress_program(),
                                .pin = options.pin};
  for (const Interface& each : *interfaces) {
    base::Attempt<Attachment> attachment = Attachment::attach(each, attach);
    if (!attachment) return base::cannot(attachment.error());
    made->ports_.push_back({each, std::move(*attachment), LinkState::up});
  }
  const io::SocketAddress& listen =
      options.join_address.is_set() ? options.join_address : settled.listen;
  if (const base::Result<void> ready = made->make_registrar(listen); !ready) {
    return base::cannot("--parent " + options.parent.text() + " " + ready.error().detail);
  }
  auto server = join::JoinServer::start(listen, *made->registrar_, options.joining);
  if (!server) return base::cannot(text_of(server.error()));
  made->join_server_ = std::move(*server);
  return made;
}

KernelSwitch::KernelSwitch(const KernelSwitchOptions& options, std::vector<Claim> claims,
                           Program program, io::UdpSocket socket)
    : options_(options),
      claims_(std::move(claims)),
      program_(std::move(program)),
      socket_(std::move(socket)) {}

base::Result<void> KernelSwitch::make_registrar(const io::SocketAddress& join_address) {
  if (!options_.parent.is_set()) {
    registrar_ = std::make_unique<join::JobRegistry>(this);
    return {};
  }
  auto uplink = switches::UdpUplink::find(options_.parent, options_.listen, join_address);
  if (!uplink) return tl::unexpected(uplink.error());
  uplink_ = std::move(*uplink);
  registrar_ = std::make_unique<join::RackRelay>(*this, *uplink_,
                                                 uplink_->relay_options(options_.parent_keys));
  return {};
}

// Tells all jobs their end over both planes before the program is detached.
KernelSwitch::~KernelSwitch() {
  join_server_.reset();
  registrar_.reset();  // its thread uses the program
  const base::MutexLock lock(mutex_);
  for (const auto& [number, job] : jobs_)
    tell(number, job, {core::AbortReason::stopped, 0, 0, {}, {}});
}

std::vector<join::SiteAddress> KernelSwitch::sites() const {
  return {{.address = options_.listen.text_elsewhere(), .record = program_.record()}};
}

std::uint32_t KernelSwitch::jobs_max() const { return kJobsMax; }

join::Answer<void> KernelSwitch::start_job(const join::JobTerms& terms) {
  const core::AggregatorOptions options = join::aggregator_options(terms);
  site::Neighbours neighbours = {{}, site::worker_sources(terms, options)};
  Job job = {terms.epoch, options.parent_worker.value_or(0), {}, neighbours.workers};
  if (terms.below) {
    const auto parents = switches::sites_of_parent(*terms.below);
    if (!parents) return tl::unexpected(parents.error());
    neighbours.parent = job.parent = parents->front();
  }
  const base::MutexLock lock(mutex_);
  if (jobs_.contains(terms.job)) {
    return join::refused(join::sentences::kNumberInUse, terms.job);
  }
  const bool sums_native = !terms.native_types.is_empty() && !options.parent_worker;
  const base::Result<void> added = program_.add_job(options, neighbours, sums_native);
  if (!added) {
    return join::refused(join::sentences::kProgramCannotAdd, added.error().detail);
  }
  jobs_[terms.job] = job;
  if (job.parent.is_set()) probe_parent(terms.job, job);
  return {};
}

std::optional<core::Abort> KernelSwitch::end_job(std::uint16_t job, const core::Abort& abort) {
  const base::MutexLock lock(mutex_);
  const auto found = jobs_.find(job);
  if (found == jobs_.end()) return std::nullopt;
  return tell(job, found->second, abort);
}

// A packet that is inside the program must not reach slots that belong to another job by then.
void KernelSwitch::forget_job(std::uint16_t job) {
  const base::MutexLock lock(mutex_);
  if (jobs_.erase(job) == 0) return;
  program_.close_job(job);
  if (!Program::wait_for_packets()) return;  // then the slots stay unused
  program_.remove_job(job);
}

// sends the end once to every worker whose address is known. A worker that misses it asks,
// and the program repeats it. The program's answer says whether the root knows. Returns the
// end that the program keeps.
std::optional<core::Abort> KernelSwitch::tell(std::uint16_t number, const Job& job,
                                              const core::Abort& abort) {
  const std::optional<infold_abort> kept = program_.end_job(number, abort);
  if (!kept) return std::nullopt;
  const std::optional<core::Abort> said = core::read_abort(std::as_bytes(std::span(&*kept, 1)));
  core::Header header;
  header.kind = core::Kind::aborted;
  header.job = number;
  header.epoch = job.epoch;
  if (job.parent.is_set()) header.flags = INFOLD_FLAG_PARTIAL;
  std::array<std::byte, INFOLD_HEADER_BYTES + sizeof(infold_abort)> datagram;
  core::write_header(header, datagram);
  std::memcpy(datagram.data() + INFOLD_HEADER_BYTES, &*kept, sizeof(*kept));
  for (const Place& place : program_.places(number)) {
    if (place.address.is_set()) send(place.address, datagram);
  }
  if (!job.parent.is_set()) return said;
  header.kind = core::Kind::abort;
  header.flags = 0;
  header.worker = job.number_at_parent;
  core::write_header(header, datagram);
  send(job.parent, datagram);
  return said;
}

// A probe with the job's number and epoch, which identify the echo.
void KernelSwitch::probe_parent(std::uint16_t number, const Job& job) {
  core::Header header;
  header.job = number;
  header.epoch = job.epoch;
  std::array<std::byte, INFOLD_HEADER_BYTES> datagram;
  core::write_header(header, datagram);
  datagram[0] = std::byte{INFOLD_PROBE_MAGIC};
  send(job.parent, datagram);
}

void KernelSwitch::send(const io::SocketAddress& to, std::span<const std::byte> datagram) {
  const std::array<io::SocketAddress, 1> only = {to};
  socket_.send(only, datagram);
  socket_.flush();
}

}  // namespace infold::xdp
