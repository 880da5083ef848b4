// SPDX-License-Identifier: Apache-2.0
//
// Memory that another process may map too, through a descriptor passed to it. It has no name, so
// it is gone with the last process that has it, however that ends; and its size is sealed, so that
// no peer can cut it off below an address that we read.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"
#include "io/host/file_descriptor.h"

namespace infold::io {

class SharedMemory {
 public:
  // Zeroed, and taken from the system at once: later use cannot run out of memory.
  static base::Result<SharedMemory> create(std::size_t bytes);
  // What a peer has created: refused unless it has this size, sealed.
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
