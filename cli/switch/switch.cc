// SPDX-License-Identifier: Apache-2.0
//
// infold switch: the aggregator as a daemon in the foreground. It runs in user space, with
// cli/switch/switch_xdp in the kernel, or with cli/switch/switch_p4 in a P4 pipeline. It prints its
// addresses and its memory limit, then works until a signal stops it.

#include <malloc.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_p4.h"
#include "cli/switch/switch_report.h"
#include "cli/switch/switch_xdp.h"
#include "control/service/control_server.h"
#include "io/address/socket_address.h"
#include "io/host/descriptors.h"
#include "lab/interrupt.h"
#include "switch/switch_server.h"

namespace infold::cli {
namespace {

// The headers of IPv4 and UDP. IPv6's are longer, so slots fit either.
constexpr std::uint32_t kHeaderBytes = 28;
// A job's arrays are longer than this. Such arrays are mapped, and go back to the system when the
// job ends.
constexpr int kMappedBytes = 64 << 10;

// By default the C library raises that threshold to 32 MB when large arrays are freed, and keeps
// shorter arrays in a pool of each thread. With jobs that come and go, memory would be twice what
// jobs use.
void give_back_what_is_freed() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
#endif
}

class Switch final : public Command {
 public:
  std::string_view name() const override { return "switch"; }
  std::string_view summary() const override {
    return "Sum the tensors of any number of jobs for workers on the network";
  }

  void declare(Options& options) override {
    options.address("--listen", listen_, listen_at_,
                    "Address of the UDP port for packets, HOST:PORT; :PORT for all addresses");
    options.address("--control", control_, control_at_,
                    "Address of the TCP port for joining, HOST:PORT; empty takes that of --listen");
    options.address(
        "--parent", parent_, parent_at_,
        "Address for joining of the switch above, HOST:PORT; this switch sums a rack and "
        "sends one stream there");
    options.whole<unsigned>("--threads", threads_, {1, 64},
                            "Threads that sum; each has a UDP port, the first that of --listen");
    options.whole<std::uint32_t>("--slots", slots_, {2, 60'000},
                                 "Slots of each thread: chunks of all jobs in flight at a time");
    options.whole<std::uint32_t>("--mtu", mtu_, {576, 9216}, "Largest packet of any job in bytes");
    options.flag("--no-offload", no_offload_,
                 "Send and receive packets one by one, without the kernel's offloads");
    options.choice("--plane", plane_, {"user", "xdp", "p4"},
                   "Where sums are made: user is threads of this process, xdp is the kernel, p4 is "
                   "the pipeline of a P4 device");
    options.text_list("--dev", devices_,
                      "Network interfaces with commas between; needs --plane xdp");
    options.flag(
        "--pin", pin_,
        "Keep the packet program at its interfaces when this process ends; needs --plane xdp");
    p4_.declare(options);
    options.address("--metrics", metrics_, metrics_at_,
                    "Address of the HTTP port for Prometheus metrics, HOST:PORT; empty for none");
    log_.declare(options);
    options.config_file("--config", "TOML file with any of these options, such as: slots = 2048");
    options.examples(
        "  infold switch --listen :7700\n"
        "  infold switch --listen 10.0.0.1:7700 --threads 4 --slots 2048\n"
        "  infold switch --listen 10.1.0.1:7700 --parent 10.0.0.1:7700\n"
        "  infold switch --plane xdp --dev eth0,eth1 --listen 10.0.0.1:7700\n"
        "  infold switch --plane p4 --p4runtime 127.0.0.1:9559 --program build/p4 --ports 1,2,3 "
        "--listen 10.0.0.1:7700\n"
        "  infold switch --listen 10.0.0.1:7700 --metrics 127.0.0.1:7790\n"
        "  infold switch --config /etc/infold/switch.toml");
  }

  ExitCode run(Output& output) override {
    const lab::InterruptGuard guard;
    io::raise_descriptor_limit(control::kDescriptorsWanted);
    log_.apply();
    if (const auto wrong = find_misfit(); !wrong.empty()) {
      output.log("infold switch: {}\n", wrong);
      return ExitCode::kBadUsage;
    }
    if (plane_ == "xdp") {
      return run_xdp_switch(
          {listen_at_, control_at_, metrics_at_, devices_, slots_, mtu_, pin_, parent_at_}, output);
    }
    if (plane_ == "p4") {
      return p4_.run({listen_at_, control_at_, metrics_at_, slots_, mtu_ - kHeaderBytes}, output);
    }
    switches::SwitchOptions options;
    options.listen = listen_at_;
    options.control = control_at_;
    options.parent = parent_at_;
    options.threads = threads_;
    options.slots = slots_;
    options.datagram_bytes_max = mtu_ - kHeaderBytes;
    options.offload = !no_offload_;
    return run_user_switch(output, guard, options);
  }

 private:
  ExitCode run_user_switch(Output& output, const lab::InterruptGuard& guard,
                           const switches::SwitchOptions& options) const {
    give_back_what_is_freed();
    const auto server = switches::SwitchServer::start(options);
    if (!server) {
      const std::string_view where = server.error().where;
      const bool is_control = where == "control" && !control_.empty();
      output.log("infold switch: {} {}: {}\n", where,
                 where == "parent" ? parent_
                 : is_control      ? control_
                                   : listen_,
                 server.error().detail);
      return ExitCode::kFailed;
    }
    // Slots must not wait for a disk. Without the permission to lock memory they may have to.
    const bool pinned = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    const auto page = serve_metrics(output, metrics_at_, [&] { return (*server)->status(); });
    if (!page) return ExitCode::kFailed;
    announce(output, **server, pinned, metrics_place(page->get()));
    log_start(listen_, (*server)->control_address().text(), "user");
    while (!guard.wait_for(kLogTick)) log_quiet_moment();
    log_stop((*server)->status().jobs.size());
    report_end(output, (*server)->status());
    return ExitCode::kDone;
  }

  // Returns an error if an option does not fit the plane, else an empty text.
  std::string find_misfit() const {
    if (plane_ != "p4") {
      if (const char* const given = p4_.find_given()) {
        return fmt::format("{}: needs --plane p4", given);
      }
    }
    if (plane_ != "xdp") {
      if (!devices_.empty())
        return "--dev: needs --plane xdp; other planes have no network interfaces of their own";
      if (pin_) return "--pin: needs --plane xdp; only the packet program can be pinned";
    }
    if (plane_ == "user") return "";
    if (plane_ == "xdp" && devices_.empty())
      return "--dev: --plane xdp needs the names of network interfaces";
    if (std::set<std::string>(devices_.begin(), devices_.end()).size() < devices_.size()) {
      return "--dev: an interface is named twice";
    }
    if (threads_ != 1) {
      return fmt::format("--threads: --plane {} has no threads; {}", plane_,
                         plane_ == "xdp" ? "the kernel sums on the core where a packet arrives"
                                         : "the device sums");
    }
    if (no_offload_)
      return fmt::format("--no-offload: --plane {} always takes packets one by one", plane_);
    if (listen_at_.is_any() || listen_at_.port() == 0) {
      return fmt::format("--listen: --plane {} needs one address of this host, and a port", plane_);
    }
    if (plane_ == "p4") return p4_.find_misfit(listen_at_, parent_at_);
    return "";
  }

  void announce(Output& output, const switches::SwitchServer& server, bool pinned,
                const std::string& metrics) const {
    const std::string control = server.control_address().text();
    const switches::SwitchServer::SlotMemory memory = server.memory_max(mtu_ - kHeaderBytes);
    output.text("infold switch: packets at {}, {} thread{}; ranks join at {}{}\n", listen_,
                threads_, threads_ == 1 ? "" : "s", control,
                parent_.empty() ? "" : "; sums go up to " + parent_);
    output.text(
        "slots: {} for each thread, {:.0f} MB at most, and {:.0f} MB more if sums of floats need "
        "integers; {}; {}\n",
        slots_, static_cast<double>(memory.bytes - memory.bins_bytes) / 1e6,
        static_cast<double>(memory.bins_bytes) / 1e6,
        pinned ? "pinned" : "not pinned (no permission to lock memory)",
        server.uses_trains() ? "packets are sent in trains" : "packets are sent one by one");
    const control::ControlServer::Budget joining = server.control_budget();
    report_joining(output, joining);
    if (!metrics.empty()) output.text("metrics: http://{}/metrics\n", metrics);
    output.object({{"event", "listening"},
                   {"control_connections_max", joining.connections},
                   {"control_threads_max", joining.threads},
                   {"control_memory_bytes_max", joining.memory_bytes},
                   {"listen", listen_},
                   {"control", control},
                   {"parent", parent_},
                   {"threads", threads_},
                   {"slots", slots_},
                   {"memory_bytes_max", memory.bytes},
                   {"bins_bytes_max", memory.bins_bytes},
                   {"pinned", pinned},
                   {"trains", server.uses_trains()},
                   {"metrics", metrics}});
  }

  std::string listen_ = ":7700";
  std::string control_;
  std::string parent_;
  std::string metrics_;
  io::SocketAddress listen_at_;
  io::SocketAddress control_at_;
  io::SocketAddress parent_at_;
  io::SocketAddress metrics_at_;
  unsigned threads_ = 1;
  std::uint32_t slots_ = 4096;
  std::uint32_t mtu_ = 9000;
  bool no_offload_ = false;
  std::string plane_ = "user";
  std::vector<std::string> devices_;
  bool pin_ = false;
  P4Options p4_;
  LogOptions log_;
};

}  // namespace

std::unique_ptr<Command> make_switch_command() { return std::make_unique<Switch>(); }

}  // namespace infold::cli
