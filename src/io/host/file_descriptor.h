// SPDX-License-Identifier: Apache-2.0
//
// Owns a file descriptor of any kind and closes it.
#pragma once

#include <unistd.h>
#include <utility>

namespace infold::io {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd = -1) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }

  bool is_open() const { return fd_ >= 0; }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }  // the caller closes it

 private:
  int fd_;
};

}  // namespace infold::io
