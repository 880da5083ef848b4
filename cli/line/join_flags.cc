// SPDX-License-Identifier: Apache-2.0
#include "cli/line/join_flags.h"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "api/environment.h"
#include "core/world.h"
#include "keys/token/join_string.h"

namespace infold::cli {
namespace {

constexpr WireFormat kWires[] = {WireFormat::automatic, WireFormat::native, WireFormat::digits,
                                 WireFormat::bfp32,     WireFormat::bfp16,  WireFormat::bfp8,
                                 WireFormat::fixed32};

Sites sites_of(const std::string& name) {
  if (name == "switches") return Sites::switches;
  if (name == "workers") return Sites::workers;
  return name == "mixed" ? Sites::mixed : Sites::automatic;
}

SharedMemory shared_memory_of(const std::string& name) {
  if (name == "off") return SharedMemory::off;
  return name == "always" ? SharedMemory::always : SharedMemory::automatic;
}

// Replaces names such as "JoinOptions.rank" with the option, here "--rank".
std::string in_flags(std::string message) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"JoinOptions.rank", "--rank"},       {"JoinOptions.world", "--ranks"},
      {"JoinOptions.switches", "--switch"}, {"JoinOptions.rendezvous", "--rendezvous"},
      {"JoinOptions.sites", "--place"},     {"JoinOptions.address", "--address"},
      {"mtu_bytes is", "--mtu is"},
  };
  for (const auto& [name, flag] : kNames) {
    for (std::size_t at = 0; (at = message.find(name, at)) != std::string::npos;) {
      message.replace(at, name.size(), flag);
      at += flag.size();
    }
  }
  return message;
}

}  // namespace

void JoinFlags::declare(Options& options) {
  options.text_list("--switch", switches_,
                    "Switches to join, HOST:PORT with commas between, or @FILE with the strings to "
                    "join them with; else $INFOLD_SWITCHES");
  options.text("--rendezvous", rendezvous_,
               "In a job without a switch, the address HOST:PORT at which rank 0 waits; else "
               "$INFOLD_RENDEZVOUS or $MASTER_ADDR");
  options.text("--job", job_, "Name of the job; else $INFOLD_JOB");
  options.whole<unsigned>(
      "--rank", rank_, {0, core::kWorldMax - 1},
      "Number of this rank; else $INFOLD_RANK, $RANK or the launcher's variable");
  options.whole<unsigned>(
      "--ranks", world_, {1, core::kWorldMax},
      "Number of ranks; else $INFOLD_WORLD, $WORLD_SIZE or the launcher's variable");
  options.choice("--place", sites_, {"auto", "switches", "workers", "mixed"},
                 "Where tensors are summed: at switches, at workers, or at both (mixed); auto "
                 "follows $INFOLD_SITES");
  options.whole<unsigned>("--switch-weight", switch_weight_, {1, 64},
                          "Weight of each switch with --place mixed, as infold plan prints it");
  options.whole<unsigned>("--worker-weight", worker_weight_, {1, 64},
                          "Weight of each worker with --place mixed, as infold plan prints it");
  has_switch_weight_ = options.is_given("--switch-weight");
  has_worker_weight_ = options.is_given("--worker-weight");
  options.text("--address", address_,
               "Local address to send from; else the address of the best interface");
  options.whole<unsigned>("--mtu", mtu_, {0, 9216},
                          "Largest packet in bytes, 576 to 9216; 0 takes the MTU of the route");
  options.real("--deadline", deadline_s_, {0.1, 86400},
               "Seconds after which a call or a join fails");
  options.choice("--shared-memory", shared_memory_, {"auto", "off", "always"},
                 "Whether ranks of one host sum in shared memory first; auto follows "
                 "$INFOLD_SHARED_MEMORY");
  options.flag("--no-offload", no_offload_,
               "Send and receive packets one by one, without the kernel's offloads");
  options.whole<unsigned>("--drivers", drivers_, {0, 64},
                          "Threads that exchange packets, each with some of the sites; 0 follows "
                          "link speed and processors, or $INFOLD_DRIVERS");
}

JoinOptions JoinFlags::join_options() const {
  if (!std::exchange(has_warned_, true) &&
      std::any_of(switches_.begin(), switches_.end(), keys::has_keys)) {
    fmt::print(
        stderr,
        "infold: --switch has a token, which 'ps' shows to all users of this host; write the "
        "string into a file and give --switch @FILE\n");
  }
  JoinOptions options;
  options.switches = switches_;
  options.rendezvous = rendezvous_;
  options.job = job_;
  options.rank = rank_ ? static_cast<int>(*rank_) : -1;
  options.world = static_cast<int>(world_.value_or(0));
  options.sites = sites_of(sites_);
  options.switch_weight = static_cast<int>(switch_weight_);
  options.worker_weight = static_cast<int>(worker_weight_);
  options.address = address_;
  options.mtu_bytes = static_cast<int>(mtu_);
  options.offload = !no_offload_;
  options.drivers = static_cast<int>(drivers_);
  options.shared_memory = shared_memory_of(shared_memory_);
  options.deadline = std::chrono::nanoseconds(static_cast<std::int64_t>(deadline_s_ * 1e9));
  return options;
}

Result<Communicator> JoinFlags::join(const std::stop_token& stop, WireFormat wire) const {
  JoinOptions options = join_options();
  options.stop = stop;
  options.wire = wire;
  if (isatty(STDERR_FILENO) != 0) {
    fmt::print(stderr, "joining, for at most {:g} s (Ctrl-C stops)\n", deadline_s_);
  }
  return join(options);
}

Result<Communicator> JoinFlags::join(const JoinOptions& options) {
  Result<Communicator> joined = Communicator::join(options);
  if (joined) return joined;
  std::string& message = joined.error().message;
  message = options.stop.stop_requested() ? "stopped on request" : in_flags(std::move(message));
  return joined;
}

Result<JoinOptions> JoinFlags::complete() const {
  Result<JoinOptions> complete = api::complete_from_environment(join_options());
  if (complete) {
    if (complete->sites == Sites::mixed) return complete;
    const bool of_switch = has_switch_weight_();
    if (!of_switch && !has_worker_weight_()) return complete;
    const char* const option = of_switch ? "--switch-weight" : "--worker-weight";
    return tl::unexpected(
        Error{Code::invalid_argument,
              fmt::format("{} has no effect where only {} sum; drop it, or add --place mixed",
                          option, complete->sites == Sites::workers ? "the ranks" : "switches"),
              -1, ""});
  }
  constexpr std::string_view kPrefix = "join: ";
  std::string& message = complete.error().message;
  if (message.starts_with(kPrefix)) message.erase(0, kPrefix.size());
  message = in_flags(std::move(message));
  return complete;
}

WireFormat wire_of(const std::string& name) {
  for (const WireFormat wire : kWires) {
    if (name == wire_format_name(wire)) return wire;
  }
  return WireFormat::automatic;
}

std::vector<std::string> wire_names() {
  std::vector<std::string> names;
  for (const WireFormat wire : kWires) names.emplace_back(wire_format_name(wire));
  return names;
}

}  // namespace infold::cli
