// SPDX-License-Identifier: Apache-2.0
//
// A doorbell is an eventfd. Writing to it fails only if the count is at its limit, and then the
// doorbell is ringing already.
#include "io/memory/doorbell.h"

#include <cerrno>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/eventfd.h>

namespace infold::io {

base::Result<Doorbell> Doorbell::open() {
  FileDescriptor file(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!file.is_open()) {
    return base::fail(base::Code::resource_exhausted, "eventfd", "out of files", errno);
  }
  return Doorbell(std::move(file));
}

base::Result<Doorbell> Doorbell::adopt(FileDescriptor file) {
  const std::string name = "/proc/self/fd/" + std::to_string(file.get());
  char kind[64] = {};
  const ssize_t bytes = readlink(name.c_str(), kind, sizeof(kind));
  const std::string_view found(kind, bytes < 0 ? 0 : static_cast<std::size_t>(bytes));
  if (found != "anon_inode:[eventfd]") {
    return base::fail(base::Code::invalid_argument, "eventfd",
                      "another rank's doorbell is not an eventfd");
  }
  return Doorbell(std::move(file));
}

base::Result<Doorbell> Doorbell::share() const {
  FileDescriptor file(fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
  if (!file.is_open()) {
    return base::fail(base::Code::resource_exhausted, "dup", "out of files", errno);
  }
  return Doorbell(std::move(file));
}

void Doorbell::ring() const { eventfd_write(file_.get(), 1); }

void Doorbell::silence() const {
  eventfd_t ignored;
  eventfd_read(file_.get(), &ignored);
}

}  // namespace infold::io
