// SPDX-License-Identifier: Apache-2.0
//
// infold switch: the aggregator as a daemon in the foreground, in user space or, with
// cli/switch_xdp, in the kernel. Says what it listens on and what memory it may take, then works
// until it is told to stop.

#include <malloc.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_report.h"
#include "cli/switch/switch_xdp.h"
#include "control/service/control_server.h"
#include "io/address/socket_address.h"
#include "io/host/descriptors.h"
#include "lab/interrupt.h"
#include "switch/switch_server.h"

namespace infold::cli {
namespace {

// IPv4 and UDP, the shorter of the two, so that slots fit either.
constexpr std::uint32_t kHeaderBytes = 28;
// A job's arrays, each of them longer than this, are mapped and go back to the system when it ends.
constexpr int kMappedBytes = 64 << 10;

// By itself the C library raises that threshold to 32 MB as it sees large arrays freed, and keeps
// what is shorter in pools of each thread: with jobs coming and going, twice what is in use.
void give_back_what_is_freed() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
#endif
}

class Switch final : public Command {
 public:
  std::string_view name() const override { return "switch"; }
  std::string_view summary() const override {
    return "Sum the tensors of any number of jobs, for workers on the network";
  }

  void declare(Options& options) override {
    options.address("--listen", listen_, listen_at_,
                    "Address for packets, HOST:PORT; :PORT for all addresses");
    options.address("--control", control_, control_at_,
                    "Address for joining, over TCP; empty for the same as --listen");
    options.address("--parent", parent_, parent_at_,
                    "The switch above this one, HOST:PORT where ranks would join it: sum a rack, "
                    "and send one stream there");
    options.whole<unsigned>("--threads", threads_, {1, 64},
                            "Threads that sum; each has a port, from --listen's on");
    options.whole<std::uint32_t>("--slots", slots_, {2, 60'000},
                                 "Chunks in flight of all jobs together, for each thread");
    options.whole<std::uint32_t>("--mtu", mtu_, {576, 9216}, "Largest packet of any job");
    options.flag("--no-offload", no_offload_, "Move packets one by one, whatever the kernel can");
    options.choice("--plane", plane_, {"user", "xdp"},
                   "Where sums are made: by threads of this process, or in the kernel");
    options.text_list("--dev", devices_,
                      "Interfaces of the kernel's plane, with commas between; needs --plane xdp");
    options.flag("--pin", pin_, "Leave the kernel's plane at its interfaces when this ends");
    options.address("--metrics", metrics_, metrics_at_,
                    "Address for metrics in Prometheus' format, HOST:PORT; empty for none");
    options.choice("--log", log_, {"text", "json"}, "What stderr holds: a line for each event");
    options.choice("--log-level", log_level_, {"off", "error", "warn", "info", "debug"},
                   "The least important events that are logged");
    options.config_file("--config", "TOML file with any of these, as in: slots = 2048");
    options.examples(
        "  infold switch --listen :7700\n"
        "  infold switch --listen 10.0.0.1:7700 --threads 4 --slots 2048\n"
        "  infold switch --listen 10.1.0.1:7700 --parent 10.0.0.1:7700\n"
        "  infold switch --plane xdp --dev eth0,eth1 --listen 10.0.0.1:7700\n"
        "  infold switch --listen 10.0.0.1:7700 --metrics 127.0.0.1:7790\n"
        "  infold switch --config /etc/infold/switch.toml");
  }

  ExitCode run(Output& output) override {
    const lab::InterruptGuard guard;
    io::raise_descriptor_limit(control::kDescriptorsWanted);
    set_log(log_level_, log_);
    if (const auto wrong = find_misfit(); !wrong.empty()) {
      output.log("infold switch: {}\n", wrong);
      return ExitCode::kBadUsage;
    }
    if (plane_ == "xdp") {
      return run_xdp_switch(
          {listen_at_, control_at_, metrics_at_, devices_, slots_, mtu_, pin_, parent_at_}, output);
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
    // Slots must not wait for a disk; where that is not allowed they only might.
    const bool pinned = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    const auto page = serve_metrics(metrics_at_, [&server] { return (*server)->status(); });
    if (!page) {
      output.log("infold switch: --metrics {}: {}\n", metrics_, page.error().detail);
      return ExitCode::kFailed;
    }
    announce(output, **server, pinned, metrics_place(page->get()));
    log_start(listen_, (*server)->control_address().text(), "user");
    while (!guard.wait_for(kLogTick)) log_quiet_moment();
    log_stop((*server)->status().jobs.size());
    report_end(output, (*server)->status());
    return ExitCode::kDone;
  }

  // Which option does not go with which plane; empty if all fit.
  std::string find_misfit() const {
    if (plane_ == "user") {
      if (!devices_.empty()) return "--dev: needs --plane xdp; in user space --listen says it all";
      return pin_ ? "--pin: needs --plane xdp; nothing else can be pinned" : "";
    }
    if (devices_.empty()) return "--dev: --plane xdp must be told its interfaces";
    if (std::set<std::string>(devices_.begin(), devices_.end()).size() < devices_.size()) {
      return "--dev: an interface is named twice";
    }
    if (threads_ != 1) return "--threads: --plane xdp has none; it sums wherever packets arrive";
    if (no_offload_) return "--no-offload: --plane xdp moves packets one by one anyway";
    if (listen_at_.is_any() || listen_at_.port() == 0) {
      return "--listen: --plane xdp must be told one address of this host, and a port";
    }
    return "";
  }

  void announce(Output& output, const switches::SwitchServer& server, bool pinned,
                const std::string& metrics) const {
    const std::string control = server.control_address().text();
    const double megabytes =
        static_cast<double>(server.memory_bytes_max(mtu_ - kHeaderBytes)) / 1e6;
    output.text("infold switch: packets at {}, {} thread{}; ranks join at {}{}\n", listen_,
                threads_, threads_ == 1 ? "" : "s", control,
                parent_.empty() ? "" : "; sums go up to " + parent_);
    output.text("slots: {} for each thread, {:.0f} MB at most, {}; {}\n", slots_, megabytes,
                pinned ? "pinned" : "not pinned (no permission to lock memory)",
                server.uses_trains() ? "packets move in trains" : "packets move one by one");
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
                   {"memory_bytes_max", server.memory_bytes_max(mtu_ - kHeaderBytes)},
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
  std::string log_ = "text";
  std::string log_level_ = "info";
};

}  // namespace

std::unique_ptr<Command> make_switch_command() { return std::make_unique<Switch>(); }

}  // namespace infold::cli
