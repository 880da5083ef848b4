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
#include "cli/interrupt.h"
#include "cli/switch_xdp.h"
#include "runtime/switch_server.h"

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
    options.text("--listen", listen_, "Address for packets, HOST:PORT; :PORT for all addresses");
    options.text("--control", control_,
                 "Address for joining, over TCP; empty for the same as --listen");
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
    options.config_file("--config", "TOML file with any of these, as in: slots = 2048");
    options.examples(
        "  infold switch --listen :7700\n"
        "  infold switch --listen 10.0.0.1:7700 --threads 4 --slots 2048\n"
        "  infold switch --plane xdp --dev eth0,eth1 --listen 10.0.0.1:7700\n"
        "  infold switch --config /etc/infold/switch.toml");
  }

  ExitCode run(Output& output) override {
    const InterruptGuard guard;
    runtime::SwitchOptions options;
    const auto listen = io::SocketAddress::parse(listen_, "--listen");
    if (!listen) return refuse(output, "--listen", listen_, listen.error());
    options.listen = *listen;
    if (const auto wrong = find_misfit(*listen); !wrong.empty()) {
      output.log("infold switch: {}\n", wrong);
      return ExitCode::kBadUsage;
    }
    if (!control_.empty()) {
      const auto control = io::SocketAddress::parse(control_, "--control");
      if (!control) return refuse(output, "--control", control_, control.error());
      options.control = *control;
    }
    if (plane_ == "xdp") {
      return run_xdp_switch({options.listen, options.control, devices_, slots_, mtu_, pin_},
                            output);
    }
    options.threads = threads_;
    options.slots = slots_;
    options.datagram_bytes_max = mtu_ - kHeaderBytes;
    options.offload = !no_offload_;
    give_back_what_is_freed();
    const auto server = runtime::SwitchServer::start(options);
    if (!server) {
      output.log("infold switch: {} {}: {}\n", server.error().where, listen_,
                 server.error().detail);
      return ExitCode::kFailed;
    }
    // Slots must not wait for a disk; where that is not allowed they only might.
    const bool pinned = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    announce(output, **server, pinned);
    guard.wait();
    report(output, **server);
    return ExitCode::kDone;
  }

 private:
  static ExitCode refuse(Output& output, const char* option, const std::string& value,
                         const base::Error& error) {
    output.log("infold switch: {}: '{}' {}\n", option, value, error.detail);
    return ExitCode::kBadUsage;
  }

  // Which option does not go with which plane; empty if all fit.
  std::string find_misfit(const io::SocketAddress& listen) const {
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
    if (listen.is_any() || listen.port() == 0) {
      return "--listen: --plane xdp must be told one address of this host, and a port";
    }
    return "";
  }

  void announce(Output& output, const runtime::SwitchServer& server, bool pinned) const {
    const std::string control = server.control_address().text();
    const double megabytes =
        static_cast<double>(server.memory_bytes_max(mtu_ - kHeaderBytes)) / 1e6;
    output.text("infold switch: packets at {}, {} thread{}; ranks join at {}\n", listen_, threads_,
                threads_ == 1 ? "" : "s", control);
    output.text("slots: {} for each thread, {:.0f} MB at most, {}; {}\n", slots_, megabytes,
                pinned ? "pinned" : "not pinned (no permission to lock memory)",
                server.uses_trains() ? "packets move in trains" : "packets move one by one");
    output.object({{"event", "listening"},
                   {"listen", listen_},
                   {"control", control},
                   {"threads", threads_},
                   {"slots", slots_},
                   {"memory_bytes_max", server.memory_bytes_max(mtu_ - kHeaderBytes)},
                   {"pinned", pinned},
                   {"trains", server.uses_trains()}});
  }

  static void report(Output& output, runtime::SwitchServer& server) {
    nlohmann::ordered_json object = {{"event", "stopped"}};
    std::uint64_t in = 0, out = 0, unknown = 0, messages_in = 0, messages_out = 0, blocked = 0;
    core::VerdictCounters verdicts{};
    for (const runtime::ShardStatistics& shard : server.statistics()) {
      in += shard.socket.datagrams_received;
      out += shard.socket.datagrams_sent;
      unknown += shard.unknown;
      messages_in += shard.socket.calls_received;
      messages_out += shard.socket.calls_sent;
      blocked += shard.socket.blocked;
      for (std::size_t i = 0; i < verdicts.size(); ++i) verdicts[i] += shard.verdicts[i];
    }
    object["datagrams_received"] = in;
    object["datagrams_sent"] = out;
    object["of_unknown_jobs"] = unknown;
    object["messages_received"] = messages_in;
    object["messages_sent"] = messages_out;
    object["blocked"] = blocked;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      object["packets"][core::verdict_name(static_cast<core::Verdict>(i))] = verdicts[i];
    }
    output.text(
        "stopped: {} packets in {} messages in, {} in {} out, {} of unknown jobs, {} not sent\n",
        in, messages_in, out, messages_out, unknown, blocked);
    output.object(object);
  }

  std::string listen_ = ":7700";
  std::string control_;
  unsigned threads_ = 1;
  std::uint32_t slots_ = 4096;
  std::uint32_t mtu_ = 9000;
  bool no_offload_ = false;
  std::string plane_ = "user";
  std::vector<std::string> devices_;
  bool pin_ = false;
};

}  // namespace

std::unique_ptr<Command> make_switch_command() { return std::make_unique<Switch>(); }

}  // namespace infold::cli
