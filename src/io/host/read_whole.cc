// SPDX-License-Identifier: Apache-2.0
#include "io/host/read_whole.h"

#include <cerrno>
#include <unistd.h>

namespace infold::io {

bool read_whole(int file, std::size_t bytes_max, std::string& text) {
  char buffer[4096];
  while (text.size() <= bytes_max) {
    const ssize_t bytes = read(file, buffer, sizeof(buffer));
    if (bytes == 0) return true;
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) text.append(buffer, static_cast<std::size_t>(bytes));
  }
  return true;
}

}  // namespace infold::io
