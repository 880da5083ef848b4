// SPDX-License-Identifier: Apache-2.0
//
// Calls getrandom(), or reads /dev/urandom. If both are forbidden, derives the number from the
// clock.
#include "io/host/entropy.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/prng.h"
#include "io/host/clock.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

std::uint64_t fresh_number() {
  std::uint64_t number = 0;
  ssize_t bytes = -1;
  do {
    bytes = getrandom(&number, sizeof(number), 0);
  } while (bytes < 0 && errno == EINTR);
  if (bytes == sizeof(number)) return number;
  const FileDescriptor file(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
  if (read(file.get(), &number, sizeof(number)) == sizeof(number)) return number;
  return base::mix64(static_cast<std::uint64_t>(monotonic_now().ns));
}

}  // namespace infold::io
