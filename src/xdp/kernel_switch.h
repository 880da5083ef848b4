// SPDX-License-Identifier: Apache-2.0
//
// A switch whose sums are made in the kernel: the packet program at some interfaces, and the
// control plane that sets jobs up. This process is not on the packets' path. It tells jobs their
// end, watches the interfaces, and detaches the program at its end.
//
// Packets use one address, so a job's packets are all IPv4 or all IPv6.
//
// If this switch has a parent, the program must know the parent's next hop before the first sum
// goes there. So this process sends a probe to each job's parent, again every second. The kernel's
// routes and neighbour table deliver the probe, and the program learns the next hop from the echo.
// This process needs no route look-ups.
//
// One thread owns a switch and calls watch(). The control plane's threads call the methods of
// control::Plane.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "control/registrar.h"
#include "control/registry/plane.h"
#include "control/service/control_server.h"
#include "io/udp/udp_socket.h"
#include "site/switch_status.h"
#include "switch/uplink.h"
#include "xdp/attach/attachment.h"
#include "xdp/attach/claim.h"
#include "xdp/attach/interface.h"
#include "xdp/program/program.h"

namespace infold::xdp {

struct KernelSwitchOptions {
  io::SocketAddress listen;   // an address of this host, not "any"
  io::SocketAddress control;  // unset: the same, over TCP
  std::vector<std::string> interfaces;
  std::uint32_t slots = 4096;  // of all jobs together
  std::uint32_t packet_bytes_max =
      0;                     // with IP and UDP headers; the MTU or the program may limit it
  bool pin = false;          // the program stays at the interfaces at the end
  io::SocketAddress parent;  // control address of the parent; unset: none
};

class KernelSwitch final : public control::Plane {
 public:
  static base::Attempt<std::unique_ptr<KernelSwitch>> start(const KernelSwitchOptions& options);
  ~KernelSwitch() override;  // ends all jobs

  struct Port {
    Interface interface;
    Attachment attachment;
    LinkState state = LinkState::up;
  };
  const std::vector<Port>& ports() const { return ports_; }
  io::SocketAddress control_address() const { return control_->address(); }
  control::ControlServer::Budget control_budget() const { return control_->budget(); }
  std::size_t memory_bytes() const { return program_.memory_bytes(); }
  // More, for each slot of a job that sums native elements.
  std::size_t native_slot_bytes() const { return program_.native_slot_bytes(); }
  site::SwitchStatus status();  // from any thread

  // Watches for at most this long. Returns the changes, as sentences. A job loses a worker behind
  // an interface that is gone. A worker behind an interface that is down may come back.
  std::vector<std::string> watch(base::Duration duration);
  bool has_interfaces() const;

  std::vector<control::SiteAddress> sites() const override;
  std::uint32_t slots_total() const override { return options_.slots; }
  std::uint32_t jobs_max() const override;
  std::uint32_t datagram_bytes_max() const override { return datagram_bytes_max_; }
  control::Answer<void> start_job(const control::JobTerms& terms) override;
  void end_job(std::uint16_t job, const core::Abort& abort) override;
  void forget_job(std::uint16_t job) override;

 private:
  struct Job {
    std::uint32_t epoch = 0;
    std::uint8_t number_at_parent = 0;
    io::SocketAddress parent;                     // its site; unset: none
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
  base::Result<void> make_registrar(const io::SocketAddress& control);
  void look_for_parents();
  bool hears_parent(std::span<const std::byte> datagram);
  // The three below require that mutex_ is held.
  void tell(std::uint16_t number, const Job& job, const core::Abort& abort);
  void probe_parent(std::uint16_t number, const Job& job);
  void send(const io::SocketAddress& to, std::span<const std::byte> datagram);

  KernelSwitchOptions options_;
  std::vector<Claim> claims_;  // released last
  std::uint32_t datagram_bytes_max_ = 0;
  Program program_;
  std::vector<Port> ports_;
  std::mutex mutex_;                   // of the socket's sending, and of the program's jobs
  std::map<std::uint16_t, Job> jobs_;  // by number
  io::UdpSocket socket_;               // reserves the port; sends this process's packets
  // Datagrams that bypassed the program and came to the socket. Only the program can sum them.
  std::atomic<std::uint64_t> strays_{0};
  base::Instant parents_asked_at_;
  bool told_of_unsummed_ = false;
  bool told_of_unsendable_ = false;
  std::uint64_t wrong_sources_ = 0;  // at the last look
  std::unique_ptr<switches::UdpUplink> uplink_;
  std::unique_ptr<control::Registrar> registrar_;
  std::unique_ptr<control::ControlServer> control_;
};

}  // namespace infold::xdp
