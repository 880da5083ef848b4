// SPDX-License-Identifier: Apache-2.0
#include "api/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>

#include "core/stripe.h"
#include "core/world.h"
#include "io/address/socket_address.h"
#include "io/host/log.h"
#include "keys/token/join_strings.h"
#include "keys/token/rendezvous_keys.h"

namespace infold::api {
namespace {

constexpr int kWorldMax = int{core::kWorldMax};
constexpr int kWeightMax = 64;
constexpr int kSitesMax = int{core::Stripe::kSitesMax};
constexpr int kMtuMin = 576;
constexpr int kMtuMax = 9216;
constexpr int kPortMax = 65535;
constexpr int kDriversMax = 64;

using Names = std::initializer_list<const char*>;

std::optional<std::pair<std::string, std::string>> first_of(Names names) {
  for (const char* name : names) {
    const char* const value = std::getenv(name);
    if (value != nullptr && *value != '\0') return std::pair<std::string, std::string>{name, value};
  }
  return std::nullopt;
}

Error invalid(std::string message) {
  return {Code::invalid_argument, "join: " + std::move(message), -1, ""};
}

std::optional<int> number_in(std::string_view text, int least, int most) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number < least || number > most ? std::nullopt : std::optional(number);
}

// Says how a sentence names a number, and which field of JoinOptions holds it.
struct Wanted {
  const char* noun;
  const char* field;
};

// Uses a number that the caller has given, or otherwise the number in one of the variables.
std::optional<Error> settle(int& number, bool given, Wanted what, int least, int most,
                            Names names) {
  const std::string field = std::string("JoinOptions.") + what.field;
  if (given) {
    if (number >= least && number <= most) return std::nullopt;
    return invalid(field + " is " + std::to_string(number) + "; allowed: " + std::to_string(least) +
                   " to " + std::to_string(most));
  }
  const auto found = first_of(names);
  if (!found) {
    return invalid(std::string("no ") + what.noun + ": set " + field + " or " + *names.begin());
  }
  const std::optional<int> value = number_in(found->second, least, most);
  if (!value) {
    return invalid(found->first + " is '" + found->second + "'; allowed: " + std::to_string(least) +
                   " to " + std::to_string(most));
  }
  number = *value;
  return std::nullopt;
}

// Checks an address before anything waits for it. `source` is the option or variable that holds it.
std::optional<Error> check_form(const std::string& source, const std::string& address) {
  const auto good = io::SocketAddress::check_form(address, "the address");
  if (good) return std::nullopt;
  return invalid(source + ": '" + address + "' " + good.error().detail);
}

// Checks the strings that switches are joined with, and reads the files among them. The options
// keep the names of the files, so that a rank which joins again later finds new tokens there.
std::optional<Error> check_switches(const std::string& source, const JoinOptions& options) {
  const auto strings = keys::read_join_strings(options.switches);
  if (!strings) return invalid(source + ": " + strings.error());
  std::vector<std::string> places;
  for (const keys::JoinString& each : *strings) {
    if (auto error = check_form(source, each.place)) return error;
    if (std::find(places.begin(), places.end(), each.place) != places.end()) {
      return invalid(source + " names " + each.place + " twice");
    }
    places.push_back(each.place);
  }
  return std::nullopt;
}

// Names the variables in `source`.
std::optional<Error> find_rendezvous(JoinOptions& options, std::string& source) {
  if (const auto own = first_of({"INFOLD_RENDEZVOUS"})) {
    options.rendezvous = own->second;
    source = own->first;
    return std::nullopt;
  }
  const auto host = first_of({"MASTER_ADDR"});
  const auto port = first_of({"MASTER_PORT"});
  if (!host || !port) {
    const bool names_switches =
        !options.switches.empty() || (options.use_environment && first_of({"INFOLD_SWITCHES"}));
    if (names_switches) {
      return invalid(
          "JoinOptions.sites is workers, so the ranks do not use the switches, but they have no "
          "address to meet at: set JoinOptions.rendezvous or INFOLD_RENDEZVOUS to an address of "
          "rank 0. With an emulator, set JoinOptions.sites or INFOLD_SITES to mixed");
    }
    return invalid(
        "no switch and no address to meet at: set JoinOptions.switches or INFOLD_SWITCHES to join "
        "switches, or JoinOptions.rendezvous or INFOLD_RENDEZVOUS to an address of rank 0");
  }
  const std::optional<int> number = number_in(port->second, 1, kPortMax - 1);
  if (!number) return invalid("MASTER_PORT is '" + port->second + "'; allowed: 1 to 65534");
  source = "MASTER_ADDR";
  const bool is_bare_ipv6 = host->second.find(':') != std::string::npos;
  options.rendezvous =
      (is_bare_ipv6 ? "[" + host->second + "]" : host->second) + ":" + std::to_string(*number + 1);
  return std::nullopt;
}

// Adds the secret of $INFOLD_TOKEN to a rendezvous that has none, and checks both.
std::optional<Error> settle_rendezvous(const std::string& source, JoinOptions& options) {
  const std::string place(keys::place_of(options.rendezvous));
  if (auto error = check_form(source, place)) return error;
  std::string secret_from = source;
  if (place.size() == options.rendezvous.size() && options.use_environment) {
    const auto token = first_of({"INFOLD_TOKEN"});
    if (!token) return std::nullopt;
    secret_from = token->first;
    options.rendezvous += "#" + token->second;
  }
  if (place.size() == options.rendezvous.size()) return std::nullopt;
  const auto keys = keys::RendezvousKeys::of(options.rendezvous.substr(place.size() + 1));
  if (keys) return std::nullopt;
  return invalid(secret_from + ": the secret " + keys.error());
}

std::optional<Error> settle_sites(JoinOptions& options) {
  const auto given = first_of({"INFOLD_SITES"});
  const bool is_open = options.use_environment && options.sites == Sites::automatic;
  if (!given || !is_open) return std::nullopt;
  if (given->second == "switches") {
    options.sites = Sites::switches;
  } else if (given->second == "workers") {
    options.sites = Sites::workers;
  } else if (given->second == "mixed") {
    options.sites = Sites::mixed;
  } else if (given->second != "automatic") {
    return invalid("INFOLD_SITES is '" + given->second +
                   "'; allowed: automatic, switches, workers and mixed");
  }
  return std::nullopt;
}

std::optional<Error> settle_shared_memory(JoinOptions& options) {
  if (options.host.empty()) {
    if (const auto host = first_of({"INFOLD_HOST"})) options.host = host->second;
  }
  const auto given = first_of({"INFOLD_SHARED_MEMORY"});
  const bool is_open = options.use_environment && options.shared_memory == SharedMemory::automatic;
  if (!given || !is_open) return std::nullopt;
  if (given->second == "off") {
    options.shared_memory = SharedMemory::off;
  } else if (given->second == "always") {
    options.shared_memory = SharedMemory::always;
  } else if (given->second != "auto") {
    return invalid("INFOLD_SHARED_MEMORY is '" + given->second +
                   "'; allowed: auto, off and always");
  }
  return std::nullopt;
}

// A program may make one of many processes verify; the variable makes all of them verify.
std::optional<Error> settle_verify(JoinOptions& options) {
  const auto given = first_of({"INFOLD_VERIFY"});
  if (!options.use_environment || !given) return std::nullopt;
  const std::optional<int> value = number_in(given->second, 0, 1);
  if (!value) return invalid("INFOLD_VERIFY is '" + given->second + "'; allowed: 0 and 1");
  options.verify = options.verify || *value == 1;
  return std::nullopt;
}

std::optional<Error> settle_rejoin(JoinOptions& options) {
  const auto given = first_of({"INFOLD_REJOIN"});
  if (!options.use_environment || !given) return std::nullopt;
  const std::optional<int> value = number_in(given->second, 0, 1);
  if (!value) return invalid("INFOLD_REJOIN is '" + given->second + "'; allowed: 0 and 1");
  options.rejoin = options.rejoin && *value == 1;
  return std::nullopt;
}

std::optional<Error> settle_drivers(JoinOptions& options) {
  if (options.local_world == 0) {
    const auto ranks = first_of({"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE",
                                 "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"});
    // These variables belong to the launchers, so a value that is not a number is ignored.
    options.local_world = ranks ? number_in(ranks->second, 1, kWorldMax).value_or(1) : 1;
  }
  const auto given = first_of({"INFOLD_DRIVERS"});
  if (options.drivers != 0 || !options.use_environment || !given) return std::nullopt;
  const std::optional<int> value = number_in(given->second, 0, kDriversMax);
  if (!value) return invalid("INFOLD_DRIVERS is '" + given->second + "'; allowed: 0 to 64");
  options.drivers = *value;
  return std::nullopt;
}

// The log belongs to the process and is not an option of a job. This variable therefore also counts
// for programs that read the rest of the environment themselves.
std::optional<Error> settle_log() {
  const auto given = first_of({"INFOLD_LOG"});
  if (!given) return std::nullopt;
  const auto options = status::parse_log_options(given->second);
  if (!options) {
    return invalid("INFOLD_LOG is '" + given->second +
                   "'; allowed: off, error, warn, info or debug, and text or json after a comma");
  }
  io::set_log(*options);
  return std::nullopt;
}

std::optional<Error> check(const JoinOptions& options) {
  if (options.rank >= options.world) {
    return invalid("the rank is " + std::to_string(options.rank) + ", but the number of ranks is " +
                   std::to_string(options.world) + ", so ranks are numbered 0 to " +
                   std::to_string(options.world - 1));
  }
  for (const int weight : {options.switch_weight, options.worker_weight}) {
    if (weight >= 1 && weight <= kWeightMax) continue;
    return invalid("a weight is " + std::to_string(weight) + "; allowed: 1 to 64");
  }
  if (options.mtu_bytes != 0 && (options.mtu_bytes < kMtuMin || options.mtu_bytes > kMtuMax)) {
    return invalid("mtu_bytes is " + std::to_string(options.mtu_bytes) +
                   "; allowed: 0, or 576 to 9216");
  }
  if (options.drivers < 0 || options.drivers > kDriversMax) {
    return invalid("drivers is " + std::to_string(options.drivers) + "; allowed: 0 to 64");
  }
  if (options.local_world < 1 || options.local_world > kWorldMax) {
    return invalid("local_world is " + std::to_string(options.local_world) + "; allowed: 0 to " +
                   std::to_string(kWorldMax));
  }
  if (options.deadline.count() <= 0) return invalid("deadline must be more than zero");
  if (options.connect_deadline.count() <= 0) {
    return invalid("connect_deadline must be more than zero");
  }
  if (options.wire > WireFormat::digits) return invalid("wire is not a WireFormat");
  if (options.sites > Sites::mixed) return invalid("sites is not a Sites");
  if (options.shared_memory > SharedMemory::always) {
    return invalid("shared_memory is not a SharedMemory");
  }
  if (options.sites == Sites::workers && options.world > kSitesMax) {
    return invalid("JoinOptions.world is " + std::to_string(options.world) +
                   "; without a switch it is at most " + std::to_string(kSitesMax) +
                   ", because each rank sums a share: let a "
                   "switch sum (infold switch)");
  }
  const bool needs_switch = options.sites == Sites::switches || options.sites == Sites::mixed;
  if (needs_switch && options.switches.empty()) {
    return invalid(
        "JoinOptions.sites asks for switches, but none is named: set JoinOptions.switches or "
        "INFOLD_SWITCHES");
  }
  return std::nullopt;
}

}  // namespace

Result<JoinOptions> complete_from_environment(JoinOptions options) {
  const bool names_rendezvous = !options.rendezvous.empty();
  if (auto error =
          settle(options.rank, options.rank >= 0, {"rank", "rank"}, 0, kWorldMax - 1,
                 {"INFOLD_RANK", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"})) {
    return tl::unexpected(*error);
  }
  if (auto error = settle(
          options.world, options.world != 0, {"number of ranks", "world"}, 1, kWorldMax,
          {"INFOLD_WORLD", "WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"})) {
    return tl::unexpected(*error);
  }
  if (options.job.empty()) {
    const auto name = first_of({"INFOLD_JOB", "TORCHELASTIC_RUN_ID", "SLURM_JOB_ID"});
    options.job = name ? name->second : "default";
  }
  if (options.address.empty() && options.use_environment) {
    if (const auto address = first_of({"INFOLD_ADDRESS"})) options.address = address->second;
  }
  if (auto error = settle_sites(options)) return tl::unexpected(*error);
  const bool may_have_switches = options.sites != Sites::workers && options.use_environment;
  std::string switches_from = "JoinOptions.switches";
  if (options.switches.empty() && may_have_switches) {
    if (const auto list = first_of({"INFOLD_SWITCHES"})) {
      options.switches = keys::split_join_strings(list->second);
      switches_from = list->first;
    }
  }
  if (options.sites == Sites::automatic && names_rendezvous && !options.switches.empty()) {
    return tl::unexpected(
        invalid("JoinOptions.rendezvous is set beside switches, at which the ranks of a job would "
                "meet: leave one of them out, or set JoinOptions.sites"));
  }
  if (options.sites == Sites::automatic) {
    options.sites = options.switches.empty() ? Sites::workers : Sites::switches;
  }
  if (options.sites == Sites::workers) {
    std::string rendezvous_from = "JoinOptions.rendezvous";
    if (options.rendezvous.empty()) {
      if (auto error = find_rendezvous(options, rendezvous_from)) return tl::unexpected(*error);
    }
    if (auto error = settle_rendezvous(rendezvous_from, options)) return tl::unexpected(*error);
  } else if (auto error = check_switches(switches_from, options)) {
    return tl::unexpected(*error);
  }
  if (auto error = settle_log()) return tl::unexpected(*error);
  if (auto error = settle_shared_memory(options)) return tl::unexpected(*error);
  if (auto error = settle_verify(options)) return tl::unexpected(*error);
  if (auto error = settle_rejoin(options)) return tl::unexpected(*error);
  if (auto error = settle_drivers(options)) return tl::unexpected(*error);
  if (auto error = check(options)) return tl::unexpected(*error);
  return options;
}

}  // namespace infold::api
