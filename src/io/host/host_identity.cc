// SPDX-License-Identifier: Apache-2.0
#include "io/host/host_identity.h"

#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

std::string host_identity(std::string_view name) {
  // The kernel draws this number at random when it boots.
  char boot[64] = {};
  const FileDescriptor file(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  if (!file.is_open() || read(file.get(), boot, sizeof(boot)) <= 0) return {};
  struct stat network = {};
  if (stat("/proc/thread-self/ns/net", &network) != 0) return {};
  base::Digest digest;
  digest.add(std::as_bytes(std::span(boot)));
  digest.add(network.st_dev);
  digest.add(network.st_ino);
  digest.add(geteuid());
  digest.add(std::as_bytes(std::span(name)));
  char text[17];
  std::snprintf(text, sizeof(text), "%016llx", static_cast<unsigned long long>(digest.value()));
  return text;
}

}  // namespace infold::io
