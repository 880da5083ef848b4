// SPDX-License-Identifier: Apache-2.0
//
// A switch whose sums are made in the kernel. It consists of the packet program at some interfaces,
// and the join server that sets up jobs. Packets do not pass through this process. The process
// tells jobs that they have ended, watches the interfaces, and detaches the program when it ends.
//
// Packets use a single address, so that a job's packets are either all IPv4 or all IPv6.
//
// If this switch has a parent, the program must know the parent's next hop before the first sum
// goes there. This process therefore sends a probe to each job's parent, and repeats it every
// second. The kernel's routes and neighbour table deliver the probe, and the program learns the
// next hop from the echo. This process does not have to look up routes.
//
// One thread owns a switch and calls watch(). The join server's threads call the methods of
// join::Plane.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/mutex.h"
#include "io/udp/udp_socket.h"
#include "join/registrar.h"
#include "join/registry/plane.h"
#include "join/service/join_server.h"
#include "keys/token/join_string.h"
#include "planes/xdp/attach/attachment.h"
#include "planes/xdp/attach/claim.h"
#include "planes/xdp/attach/interface.h"
#include "planes/xdp/program/program.h"
#include "status/switch_metrics.h"
#include "switch/uplink.h"

namespace infold::xdp {

struct KernelSwitchOptions {
  io::SocketAddress listen;        // an address of this host, not "any"
  io::SocketAddress join_address;  // unset: the same address, over TCP
  std::vector<std::string> interfaces;
  std::uint32_t slots = 4096;  // for all jobs together
  std::uint32_t packet_bytes_max =
      0;                     // with IP and UDP headers; the MTU or the program may limit it
  bool pin = false;          // the program stays at the interfaces when the switch ends
  io::SocketAddress parent;  // join address of the parent; unset: none
  keys::JoinString parent_keys = {};  // the string to join the parent with
  join::ServerOptions joining = {};   // how ranks join
};

class KernelSwitch final : public join::Plane {
 public:
  static base::Attempt<std::unique_ptr<KernelSwitch>> start(const KernelSwitchOptions& options);
  ~KernelSwitch() override;  // ends all jobs

  struct Port {
    Interface interface;
    Attachment attachment;
    LinkState state = LinkState::up;
  };
  const std::vector<Port>& ports() const { return ports_; }
  io::SocketAddress join_address() const { return join_server_->address(); }
  join::JoinServer::Budget join_budget() const { return join_server_->budget(); }
  std::size_t memory_bytes() const { return program_.memory_bytes(); }
  // The additional memory for each slot of a job that sums native elements.
  std::size_t native_slot_bytes() const { return program_.native_slot_bytes(); }
  status::SwitchMetrics metrics();  // from any thread

  // Watches for at most this long. Returns the changes as sentences. If an interface is gone, jobs
  // lose the workers behind it. Workers behind an interface that is down may come back.
  std::vector<std::string> watch(base::Duration duration);
  bool has_interfaces() const;

  std::vector<join::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t jobs_max() const override;
  std::uint32_t datagram_bytes_max() const override { return datagram_bytes_max_; }
  join::Answer<void> start_job(const join::JobTerms& terms) override;
  std::optional<core::Abort> end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  struct Job {
    std::uint32_t epoch = 0;
    std::uint8_t number_at_parent = 0;
    io::SocketAddress parent;                     // the parent's site; unset: none
    std::vector<io::SocketAddress> sources = {};  // by worker
    std::set<std::uint8_t> told_of = {};          // workers whose wrong source was logged
  };

  KernelSwitch(const KernelSwitchOptions& options, std::vector<Claim> claims, Program program,
               io::UdpSocket socket);
  void count_strays(std::vector<std::string>& news);
  void look_at_ports(std::vector<std::string>& news);
  void look_at_counters(std::vector<std::string>& news);
  void look_at_sources();
  void lose_workers_behind(const Interface& interface, std::vector<std::string>& news);
  base::Result<void> make_registrar(const io::SocketAddress& join_address);
  void look_for_parents();
  bool hears_parent(std::span<const std::byte> datagram);
  std::optional<core::Abort> tell(std::uint16_t number, const Job& job, const core::Abort& abort)
      REQUIRES(mutex_);
  void probe_parent(std::uint16_t number, const Job& job) REQUIRES(mutex_);
  void send(const io::SocketAddress& to, std::span<const std::byte> datagram) REQUIRES(mutex_);

  KernelSwitchOptions options_;
  std::vector<Claim> claims_;  // released last
  std::uint32_t datagram_bytes_max_ = 0;
  Program program_;
  std::vector<Port> ports_;
  // Whoever holds this mutex may also send with the socket and change the program's jobs.
  base::Mutex mutex_;
  std::map<std::uint16_t, Job> jobs_ GUARDED_BY(mutex_);  // by number
  io::UdpSocket socket_;  // reserves the port; sends this process's packets
  // Datagrams that bypassed the program and came to the socket. Only the program could sum them.
  std::atomic<std::uint64_t> strays_{0};
  base::Instant parents_asked_at_;
  bool told_of_unsummed_ = false;
  bool told_of_unsendable_ = false;
  std::uint64_t wrong_sources_ = 0;  // when last checked
  std::unique_ptr<switches::UdpUplink> uplink_;
  std::unique_ptr<join::Registrar> registrar_;
  std::unique_ptr<join::JoinServer> join_server_;
};

}  // namespace infold::xdp
