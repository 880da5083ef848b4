// SPDX-License-Identifier: Apache-2.0
//
// Memory that other processes can map as well if its descriptor is passed to them. The memory has
// no name, so the kernel frees it when the last process that holds it ends. Its size is sealed, so
// no rank can shrink it below an address that this process reads.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

class SharedMemory {
 public:
  // Creates zeroed memory. The system reserves all of it now, so that its use cannot run out of
  // memory later.
  static base::Result<SharedMemory> create(std::size_t bytes);
  // Maps memory that another rank has created. Refuses it unless its size is `bytes` and is sealed.
  static base::Result<SharedMemory> map(FileDescriptor file, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::span<std::byte> bytes() const { return bytes_; }
  int descriptor() const { return file_.get(); }

 private:
  SharedMemory(FileDescriptor file, std::span<std::byte> bytes)
      : file_(std::move(file)), bytes_(bytes) {}

  FileDescriptor file_;
  std::span<std::byte> bytes_;  // page-aligned
};

}  // namespace infold::io
