// SPDX-License-Identifier: Apache-2.0
#include "io/address/name_lookup.h"

#include <chrono>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "base/mutex.h"
#include "io/host/clock.h"

namespace infold::io {
namespace {

using base::Code;

// Shared by the caller and the look-up thread. The last owner destroys it.
struct LookUp {
  base::Mutex mutex;
  base::StopConditionVariable changed;
  std::optional<base::Result<SocketAddress>> found GUARDED_BY(mutex);
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
      const base::MutexLock lock(shared->mutex);
      shared->found = std::move(found);
      shared->changed.notify_all();
    }).detach();
  } catch (const std::system_error&) {
    return base::fail(Code::resource_exhausted, what, "cannot be looked up: no thread");
  }
  base::MutexLock lock(shared->mutex);
  const std::chrono::steady_clock::time_point end{std::chrono::nanoseconds(deadline.ns)};
  const auto is_found = [&]() REQUIRES(shared->mutex) { return shared->found.has_value(); };
  // wait_until() would overflow if Instant::never() were passed as a time point.
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
