// SPDX-License-Identifier: Apache-2.0
#include "io/memory/shared_memory.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <utility>

namespace infold::io {
namespace {

using base::Code;

constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

base::Result<std::span<std::byte>> map_all(const FileDescriptor& file, std::size_t bytes) {
  void* const address =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file.get(), 0);
  if (address == MAP_FAILED) {
    return base::fail(Code::resource_exhausted, "mmap", "cannot map shared memory", errno);
  }
  return std::span(static_cast<std::byte*>(address), bytes);
}

}  // namespace

base::Result<SharedMemory> SharedMemory::create(std::size_t bytes) {
  // The kernel would end the process with SIGXFSZ if it made a file larger than this limit.
  rlimit limit = {};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) {
    return base::fail(Code::resource_exhausted, "memfd", "files may not be so large here");
  }
  FileDescriptor file(memfd_create("infold", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file.is_open()) {
    return base::fail(Code::unsupported, "memfd_create", "no shared memory here", errno);
  }
  // This reserves the pages. If only the size were set, a first write could find that no page is
  // left.
  if (const int reason = posix_fallocate(file.get(), 0, static_cast<off_t>(bytes)); reason != 0) {
    return base::fail(Code::resource_exhausted, "memfd", "no memory to share", reason);
  }
  if (fcntl(file.get(), F_ADD_SEALS, kSizeSeals) != 0) {
    return base::fail(Code::unsupported, "memfd", "cannot seal shared memory", errno);
  }
  const auto mapped = map_all(file, bytes);
  if (!mapped) return tl::unexpected(mapped.error());
  return SharedMemory(std::move(file), *mapped);
}

base::Result<SharedMemory> SharedMemory::map(FileDescriptor file, std::size_t bytes) {
  const int seals = fcntl(file.get(), F_GET_SEALS);
  if (seals < 0 || (seals & kSizeSeals) != kSizeSeals) {
    return base::fail(Code::invalid_argument, "memfd", "another rank's memory is not sealed",
                      seals);
  }
  struct stat status = {};
  if (fstat(file.get(), &status) != 0 || status.st_size != static_cast<off_t>(bytes)) {
    return base::fail(Code::invalid_argument, "memfd", "another rank's memory has another size",
                      status.st_size);
  }
  const auto mapped = map_all(file, bytes);
  if (!mapped) return tl::unexpected(mapped.error());
  return SharedMemory(std::move(file), *mapped);
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : file_(std::move(other.file_)), bytes_(std::exchange(other.bytes_, {})) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

}  // namespace infold::io
