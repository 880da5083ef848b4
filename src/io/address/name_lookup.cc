// SPDX-License-Identifier: Apache-2.0
#include "io/address/name_lookup.h"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>

#include "io/host/clock.h"

namespace infold::io {
namespace {

using base::Code;

// The caller and the thread of the look-up share this. The last owner destroys it.
struct LookUp {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::optional<base::Result<SocketAddress>> found;
};

}  // namespace

base::Result<SocketAddress> look_up(const std::string& text, const char* what,
                                    base::Instant deadline, const std::stop_token& stop,
                                    NameReader reader) {
  base::Result<SocketAddress> number = SocketAddress::parse_number(text, what);
  if (number) return number;
  const auto shared = std::make_shared<LookUp>();
  try {
    std::thread([shared, text, what, reader] {
      base::Result<SocketAddress> found = reader(text, what);
      const std::lock_guard lock(shared->mutex);
      shared->found = std::move(found);
      shared->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return base::fail(Code::resource_exhausted, what, "cannot be looked up: no thread");
  }
  std::unique_lock lock(shared->mutex);
  const std::chrono::steady_clock::time_point end{std::chrono::nanoseconds(deadline.ns)};
  const auto is_found = [&] { return shared->found.has_value(); };
  // Instant::never() as a time point would overflow in wait_until().
  const bool found = deadline == base::Instant::never()
                         ? shared->changed.wait(lock, stop, is_found)
                         : shared->changed.wait_until(lock, stop, end, is_found);
  if (found) {
    return *shared->found;
  }
  if (stop.stop_requested()) return base::fail(Code::cancelled, what, "was given up");
  return base::fail(Code::deadline_exceeded, what,
                    "names a host that was not found in time: do the name servers answer?");
}

}  // namespace infold::io
