// SPDX-License-Identifier: Apache-2.0
//
// The C functions that join a job, stop joining, or return the calling thread's error.
#include <chrono>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>

#include <infold/infold.h>
#include <infold/join_options.h>

#include "api/c_state.h"

struct infold_stop {
  std::stop_source value;
};

namespace infold::c_abi {

Error& last_error() {
  thread_local Error error;
  return error;
}

infold_code fail(Error error) {
  last_error() = std::move(error);
  return static_cast<infold_code>(last_error().code);
}

infold_code fail_with(const std::exception& exception) noexcept {
  // A container throws length_error where no memory could hold what it is asked for.
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&exception) != nullptr ||
                         dynamic_cast<const std::length_error*>(&exception) != nullptr;
  if (!no_memory) {
    try {
      if (dynamic_cast<const std::system_error*>(&exception) != nullptr) {
        return fail({Code::resource_exhausted,
                     std::string("the system refuses a resource: ") + exception.what(), -1, ""});
      }
      return fail({Code::unsupported,
                   std::string("a fault in infold, please report it: ") + exception.what(), -1,
                   ""});
    } catch (const std::bad_alloc&) {
      // There is no memory for the text either.
    }
  }
  // The text is short enough to need no memory.
  Error& error = last_error();
  error.code = Code::resource_exhausted;
  error.message.assign("out of memory");
  error.rank = -1;
  return INFOLD_ERROR_RESOURCE_EXHAUSTED;
}

infold_code refuse(const char* message) {
  return guarded([&] { return fail({Code::invalid_argument, message, -1, ""}); });
}

std::unique_ptr<infold_communicator> owned(Communicator&& communicator) {
  std::string interface = communicator.interface();
  return std::make_unique<infold_communicator>(
      infold_communicator{std::move(communicator), std::move(interface)});
}

namespace {

static_assert(static_cast<int>(Sites::mixed) == INFOLD_SITES_MIXED);
static_assert(static_cast<int>(SharedMemory::always) == INFOLD_SHARED_MEMORY_ALWAYS);

std::string text(const char* given) { return given == nullptr ? "" : given; }

JoinOptions join_options_of(const infold_join_options& given) {
  JoinOptions options;
  for (std::size_t i = 0; i < given.switch_count; ++i) {
    options.switches.emplace_back(given.switches[i]);
  }
  options.rendezvous = text(given.rendezvous);
  options.job = text(given.job);
  options.address = text(given.address);
  options.host = text(given.host);
  options.rank = given.rank;
  options.world = given.world;
  options.sites = enum_of<Sites>(given.sites);
  options.switch_weight = given.switch_weight;
  options.worker_weight = given.worker_weight;
  options.mtu_bytes = given.mtu_bytes;
  options.offload = given.offload != 0;
  options.drivers = given.drivers;
  options.shared_memory = enum_of<SharedMemory>(given.shared_memory);
  options.verify = given.verify != 0;
  options.rejoin = given.rejoin != 0;
  options.wire = enum_of<WireFormat>(given.wire);
  options.deadline = std::chrono::nanoseconds(given.deadline_ns);
  if (given.stop != nullptr) options.stop = given.stop->value.get_token();
  return options;
}

// What is wrong with the options, or null.
const char* fault_of(const infold_join_options& options) {
  if (options.struct_bytes != sizeof(options)) {
    return "infold_join_options has another size here; fill it with its _default function";
  }
  if (options.switches == nullptr && options.switch_count > 0) return "switches is a null pointer";
  for (std::size_t i = 0; i < options.switch_count; ++i) {
    if (options.switches[i] == nullptr) return "one of the switches is a null pointer";
  }
  return nullptr;
}

}  // namespace
}  // namespace infold::c_abi

using namespace infold::c_abi;

extern "C" {

const char* infold_error_message(void) { return last_error().message.c_str(); }
int32_t infold_error_rank(void) { return last_error().rank; }

infold_code infold_stop_create(infold_stop** stop) {
  if (stop == nullptr) return refuse("the place for the stop is a null pointer");
  return guarded([&] {
    *stop = new infold_stop;
    return INFOLD_OK;
  });
}
void infold_stop_request(infold_stop* stop) {
  if (stop != nullptr) stop->value.request_stop();
}
void infold_stop_destroy(infold_stop* stop) { delete stop; }

infold_join_options infold_join_options_default(void) {
  const infold::JoinOptions defaults;
  infold_join_options options{};
  options.struct_bytes = sizeof(options);
  options.rank = defaults.rank;
  options.world = defaults.world;
  options.sites = static_cast<infold_sites>(defaults.sites);
  options.switch_weight = defaults.switch_weight;
  options.worker_weight = defaults.worker_weight;
  options.mtu_bytes = defaults.mtu_bytes;
  options.offload = defaults.offload ? 1 : 0;
  options.drivers = defaults.drivers;
  options.shared_memory = static_cast<infold_shared_memory>(defaults.shared_memory);
  options.verify = defaults.verify ? 1 : 0;
  options.rejoin = defaults.rejoin ? 1 : 0;
  options.wire = static_cast<infold_wire>(defaults.wire);
  options.deadline_ns = defaults.deadline.count();
  return options;
}

infold_code infold_join(const infold_join_options* options, infold_communicator** communicator) {
  if (communicator == nullptr) return refuse("the place for the communicator is a null pointer");
  const char* const fault = options == nullptr ? nullptr : fault_of(*options);
  if (fault != nullptr) return refuse(fault);
  return guarded([&]() -> infold_code {
    infold::Result<infold::Communicator> joined = infold::Communicator::join(
        options == nullptr ? infold::JoinOptions{} : join_options_of(*options));
    if (!joined) return fail(std::move(joined.error()));
    *communicator = owned(std::move(*joined)).release();
    return INFOLD_OK;
  });
}

}  // extern "C"
