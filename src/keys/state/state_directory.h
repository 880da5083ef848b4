// SPDX-License-Identifier: Apache-2.0
//
// The directory in which a switch keeps what must survive a restart: its secrets and the list of
// its tokens (and its certificate, see keys/certificate.h). Only its owner may read it. Several
// switches of one host may share a directory: they are then one to their ranks, and each counts
// what a token's ranks use at it. Whoever changes the directory holds a lock on it.
//
// Reading refuses files that others could have read, or that are links, because a secret in them
// may be known already. Writing replaces a file as a whole, so that a crash leaves the old one or
// the new one. Errors are sentences for people; they name paths, and never show what files hold.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include <tl/expected.hpp>

#include "io/host/file_descriptor.h"

namespace infold::keys {

template <typename T>
using Stated = tl::expected<T, std::string>;

class StateDirectory {
 public:
  static constexpr std::size_t kFileBytesMax = 4 << 20;

  // Where a switch keeps its state if nobody names a directory: the first one of $STATE_DIRECTORY,
  // which systemd sets; else /var/lib/infold for root; else infold in $XDG_STATE_HOME, or in
  // ~/.local/state. Empty if there is no home either.
  static std::string default_path();

  // Opens a directory, or makes it with its parents. Only the user that runs this process, or root
  // for others, may be its owner, and nobody else may have access.
  static Stated<StateDirectory> open(const std::string& path);
  // Opens one that exists.
  static Stated<StateDirectory> open_existing(const std::string& path);

  // Waits for the lock of the directory, which ends with the value or the process.
  class Lock {
   public:
    ~Lock();
    Lock(Lock&& other) noexcept = default;

   private:
    friend class StateDirectory;
    explicit Lock(io::FileDescriptor folder) : folder_(std::move(folder)) {}
    io::FileDescriptor folder_;
  };
  Stated<Lock> lock() const;

  // Empty: there is no such file.
  Stated<std::optional<std::string>> read(const char* name) const;
  Stated<void> write(const char* name, std::string_view text) const;

  const std::string& path() const { return path_; }

 private:
  StateDirectory(std::string path, io::FileDescriptor folder, uid_t owner, gid_t group)
      : path_(std::move(path)), folder_(std::move(folder)), owner_(owner), group_(group) {}

  std::string path_;
  io::FileDescriptor folder_;
  uid_t owner_;
  gid_t group_;
};

}  // namespace infold::keys
