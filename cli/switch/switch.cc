// SPDX-License-Identifier: Apache-2.0
//
// infold switch: the aggregator as a daemon in the foreground. It runs in user space, or in another
// plane that the program links: the kernel or a P4 pipeline (cli/planes). It prints its addresses
// and its memory limit, then works until a signal stops it.

#include <malloc.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "cli/switch/key_options.h"
#include "cli/switch/plane.h"
#include "cli/switch/switch_log.h"
#include "cli/switch/switch_report.h"
#include "io/address/socket_address.h"
#include "io/host/descriptors.h"
#include "join/service/join_server.h"
#include "study/desk/hangup.h"
#include "study/desk/interrupt.h"
#include "switch/switch_server.h"

namespace infold::cli {
namespace {

// The headers of IPv4 and UDP. IPv6 has longer headers, so its datagrams are shorter and fit the
// slots as well.
constexpr std::uint32_t kHeaderBytes = 28;
// The arrays of a job are longer than this, so the allocator maps them, and their memory returns to
// the system when the job ends.
constexpr int kMappedBytes = 64 << 10;

// By default the C library raises this threshold up to 32 MB as large arrays are freed, and keeps
// shorter arrays in a pool for each thread. If jobs come and go, the process would then hold twice
// the memory that the jobs use.
void give_back_what_is_freed() {
#ifdef M_MMAP_THRESHOLD
  mallopt(M_MMAP_THRESHOLD, kMappedBytes);
#endif
}

class Switch final : public Command {
 public:
  explicit Switch(Planes planes) : planes_(std::move(planes)) {}

  std::string_view name() const override { return "switch"; }
  std::string_view summary() const override {
    return "Sum the tensors of any number of jobs for workers on the network";
  }

  void declare(Options& options) override {
    options.address("--listen", listen_, listen_at_,
                    "Address of the UDP port for packets, HOST:PORT; :PORT for all addresses");
    options.address("--join", join_, join_at_,
                    "Address of the TCP port for joining, HOST:PORT; empty takes that of --listen");
    options.checked(
        "--parent", parent_typed_,
        "The switch above, HOST:PORT, or the string to join it with, better as @FILE; this "
        "switch sums a rack and sends one stream there",
        [this](const std::string& typed) -> std::string {
          keys::Stated<ParentPlace> parent = read_parent(typed);
          if (!parent) return parent.error();
          parent_ = std::move(*parent);
          return "";
        });
    options.whole<unsigned>("--threads", threads_, {1, 64},
                            "Threads that sum; each has a UDP port, the first that of --listen");
    options.whole<std::uint32_t>("--slots", slots_, {2, 60'000},
                                 "Slots of each thread: chunks of all jobs in flight at a time");
    options.whole<std::uint32_t>("--mtu", mtu_, {576, 9216}, "Largest packet of any job in bytes");
    options.flag("--no-offload", no_offload_,
                 "Send and receive packets one by one, without the kernel's offloads");
    options.choice(
        "--plane", plane_, {"user", "xdp", "p4"},
        "Where sums are made: user is threads of this process, xdp is the kernel, p4 is "
        "the pipeline of a P4 device, which has run on BMv2 alone, a slow one for tests");
    options.text_list("--dev", devices_,
                      "Network interfaces with commas between; needs --plane xdp");
    options.flag(
        "--pin", pin_,
        "Keep the packet program at its interfaces when this process ends; needs --plane xdp");
    p4_.declare(options);
    keys_.declare(options);
    options.address("--metrics", metrics_, metrics_at_,
                    "Address of the HTTP port for Prometheus metrics, HOST:PORT; empty for none");
    log_.declare(options);
    options.config_file("--config", "TOML file with any of these options, such as: slots = 2048");
    options.examples(
        "  infold switch --listen :7700\n"
        "  infold switch --listen 10.0.0.1:7700 --threads 4 --slots 2048\n"
        "  infold switch --listen 10.1.0.1:7700 --parent @/etc/infold/parent\n"
        "  infold switch --listen 10.0.0.1:7700 --insecure\n"
        "  infold switch --plane xdp --dev eth0,eth1 --listen 10.0.0.1:7700\n"
        "  infold switch --plane p4 --p4runtime 127.0.0.1:9559 --program build/p4 --ports 1,2,3 "
        "--listen 10.0.0.1:7700\n"
        "  infold switch --listen 10.0.0.1:7700 --metrics 127.0.0.1:7790\n"
        "  infold switch --config /etc/infold/switch.toml");
  }

  ExitCode run(Output& output) override {
    const desk::InterruptGuard guard;
    const desk::HangupNotice notice;
    io::raise_descriptor_limit(join::kDescriptorsWanted);
    log_.apply();
    if (const auto wrong = find_misfit(); !wrong.empty()) {
      output.log("infold switch: {}\n", wrong);
      return ExitCode::kBadUsage;
    }
    if (const auto opened = keys_.open(listen_at_, join_at_); !opened) {
      output.log("infold switch: {}\n", opened.error());
      return ExitCode::kFailed;
    }
    if (plane_ == "xdp") return planes_.xdp->run(plane_options(), output);
    if (plane_ == "p4") return planes_.p4->run(plane_options(), output);
    switches::SwitchOptions options;
    options.listen = listen_at_;
    options.join_address = join_at_;
    options.parent = parent_.at;
    options.parent_keys = parent_.join;
    options.joining = keys_.server_options();
    options.threads = threads_;
    options.slots = slots_;
    options.datagram_bytes_max = mtu_ - kHeaderBytes;
    options.offload = !no_offload_;
    return run_user_switch(output, guard, options);
  }

 private:
  ExitCode run_user_switch(Output& output, const desk::InterruptGuard& guard,
                           const switches::SwitchOptions& options) const {
    give_back_what_is_freed();
    const auto server = switches::SwitchServer::start(options);
    if (!server) {
      const std::string_view where = server.error().where;
      const bool is_join = where == "join" && !join_.empty();
      const auto [option, address] = where == "parent" ? std::pair("--parent", parent_.place)
                                     : is_join         ? std::pair("--join", join_)
                                                       : std::pair("--listen", listen_);
      output.log("infold switch: {} {}: {}\n", option, address, server.error().detail);
      return ExitCode::kFailed;
    }
    // Slots must not wait for a disk, which may happen if the process may not lock its memory.
    const bool pinned = mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0;
    const auto page = serve_metrics(output, metrics_at_, [&] { return (*server)->metrics(); });
    if (!page) return ExitCode::kFailed;
    announce(output, **server, pinned, metrics_place(page->get()));
    log_start(listen_text(**server), (*server)->join_address().text(), "user");
    while (!guard.wait_for(kLogTick)) {
      log_quiet_moment();
      keys_.look_for_hangup();
    }
    log_stop((*server)->metrics().jobs.size());
    report_end(output, (*server)->metrics());
    return ExitCode::kDone;
  }

  // Returns --listen with the port that the system has chosen if it was left open.
  std::string listen_text(const switches::SwitchServer& server) const {
    return listen_at_.port() == 0 ? server.sites().front().address : listen_;
  }

  PlaneOptions plane_options() const {
    return {.listen = listen_at_,
            .join_address = join_at_,
            .parent = parent_,
            .metrics = metrics_at_,
            .slots = slots_,
            .mtu = mtu_,
            .datagram_bytes_max = mtu_ - kHeaderBytes,
            .interfaces = devices_,
            .pin = pin_,
            .p4 = p4_,
            .keys = &keys_};
  }

  // Returns the plane that the options ask for but this program lacks, else null.
  const char* find_absent() const {
    const bool asks_for_xdp = plane_ == "xdp" || !devices_.empty() || pin_;
    if (asks_for_xdp && planes_.xdp == nullptr) return "xdp";
    const bool asks_for_p4 = plane_ == "p4" || p4_.find_given() != nullptr;
    return asks_for_p4 && planes_.p4 == nullptr ? "p4" : nullptr;
  }

  // Returns an error if an option does not fit the plane, else an empty text.
  std::string find_misfit() const {
    if (const char* const absent = find_absent()) {
      return fmt::format(
          "--plane {}: this program sums in user space alone; ./dev build makes build/release/"
          "infold, which has this plane",
          absent);
    }
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
    return plane_ == "p4" ? planes_.p4->find_misfit(plane_options())
                          : planes_.xdp->find_misfit(plane_options());
  }

  void announce(Output& output, const switches::SwitchServer& server, bool pinned,
                const std::string& metrics) const {
    const std::string join_address = server.join_address().text();
    const std::string listen = listen_text(server);
    const switches::SwitchServer::SlotMemory memory = server.memory_max(mtu_ - kHeaderBytes);
    output.text("infold switch: packets at {}, {} thread{}; ranks join at {}{}\n", listen, threads_,
                threads_ == 1 ? "" : "s", join_address,
                parent_.place.empty() ? "" : "; sums go up to " + parent_.place);
    output.text(
        "slots: {} for each thread, {:.0f} MB at most, and {:.0f} MB more if sums of floats need "
        "integers; {}; {}\n",
        slots_, static_cast<double>(memory.bytes - memory.bins_bytes) / 1e6,
        static_cast<double>(memory.bins_bytes) / 1e6,
        pinned ? "pinned" : "not pinned (no permission to lock memory)",
        server.uses_trains() ? "packets are sent in trains" : "packets are sent one by one");
    const join::JoinServer::Budget joining = server.join_budget();
    report_joining(output, joining);
    keys_.announce(output, server.join_address());
    if (!metrics.empty()) output.text("metrics: http://{}/metrics\n", metrics);
    output.object({{"event", "listening"},
                   {"join_connections_max", joining.connections},
                   {"join_threads_max", joining.threads},
                   {"join_memory_bytes_max", joining.memory_bytes},
                   {"listen", listen},
                   {"join", join_address},
                   {"parent", parent_.place},
                   {"threads", threads_},
                   {"slots", slots_},
                   {"memory_bytes_max", memory.bytes},
                   {"bins_bytes_max", memory.bins_bytes},
                   {"pinned", pinned},
                   {"trains", server.uses_trains()},
                   {"metrics", metrics},
                   {"keys", keys_.describe(server.join_address())}});
  }

  std::string listen_ = ":7700";
  std::string join_;
  std::string parent_typed_;
  ParentPlace parent_;
  std::string metrics_;
  io::SocketAddress listen_at_;
  io::SocketAddress join_at_;
  io::SocketAddress metrics_at_;
  unsigned threads_ = 1;
  std::uint32_t slots_ = 4096;
  std::uint32_t mtu_ = 9000;
  bool no_offload_ = false;
  std::string plane_ = "user";
  std::vector<std::string> devices_;
  bool pin_ = false;
  P4Options p4_;
  KeyOptions keys_;
  Planes planes_;
  LogOptions log_;
};

}  // namespace

std::unique_ptr<Command> make_switch_command(Planes planes) {
  return std::make_unique<Switch>(std::move(planes));
}

}  // namespace infold::cli
