// SPDX-License-Identifier: Apache-2.0
#include "keys/state/state_directory.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "io/host/read_whole.h"

namespace infold::keys {
namespace {

constexpr mode_t kOthers = S_IRWXG | S_IRWXO;

std::string reason_of(int error) {
  return std::error_code(error, std::generic_category()).message();
}

tl::unexpected<std::string> failed(std::string sentence) {
  return tl::unexpected<std::string>(std::move(sentence));
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Makes a directory and its parents. Parents that exist stay as they are.
Stated<void> make_folders(const std::string& path) {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) std::filesystem::create_directories(parent, error);
  if (error) return failed(fmt::format("cannot create {}: {}", parent.string(), error.message()));
  if (mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
  return failed(fmt::format("cannot create {}: {}", path, reason_of(errno)));
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t bytes = ::write(file, text.data(), text.size());
    if (bytes < 0 && errno != EINTR) return false;
    if (bytes > 0) text.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return true;
}

}  // namespace

std::string StateDirectory::default_path() {
  const std::string of_systemd = variable("STATE_DIRECTORY");
  if (!of_systemd.empty()) return of_systemd.substr(0, of_systemd.find(':'));
  if (geteuid() == 0) return "/var/lib/infold";
  const std::string state = variable("XDG_STATE_HOME");
  if (!state.empty()) return state + "/infold";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/state/infold";
}

Stated<StateDirectory> StateDirectory::open(const std::string& path) {
  if (const Stated<void> made = make_folders(path); !made) return tl::unexpected(made.error());
  return open_existing(path);
}

// The directory itself may be a link, as systemd's directories of dynamic users are.
Stated<StateDirectory> StateDirectory::open_existing(const std::string& path) {
  io::FileDescriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open()) {
    return failed(fmt::format("cannot open the directory {}: {}", path, reason_of(errno)));
  }
  struct stat found = {};
  if (fstat(folder.get(), &found) != 0) {
    return failed(fmt::format("cannot look at {}: {}", path, reason_of(errno)));
  }
  const uid_t own = geteuid();
  if (found.st_uid != own && own != 0) {
    return failed(fmt::format("{} belongs to another user (number {})", path, found.st_uid));
  }
  if ((found.st_mode & kOthers) != 0) {
    return failed(fmt::format("other users have access to {}: chmod 700 {}", path, path));
  }
  return StateDirectory(path, std::move(folder), found.st_uid, found.st_gid);
}

Stated<StateDirectory::Lock> StateDirectory::lock() const {
  // A descriptor of its own has a lock of its own, also against other threads of this process.
  io::FileDescriptor folder(openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  while (folder.is_open() && flock(folder.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return failed(fmt::format("cannot lock {}: {}", path_, reason_of(errno)));
  }
  if (!folder.is_open()) {
    return failed(fmt::format("cannot lock {}: {}", path_, reason_of(errno)));
  }
  return Lock(std::move(folder));
}

StateDirectory::Lock::~Lock() = default;

Stated<std::optional<std::string>> StateDirectory::read(const char* name) const {
  const std::string where = path_ + "/" + name;
  // A pipe that somebody has put there must not make this process wait.
  const io::FileDescriptor file(
      openat(folder_.get(), name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!file.is_open() && errno == ENOENT) return std::nullopt;
  if (!file.is_open() && errno == ELOOP) return failed(where + " is a link, which is not allowed");
  if (!file.is_open()) {
    return failed(fmt::format("cannot read {}: {}", where, reason_of(errno)));
  }
  struct stat found = {};
  if (fstat(file.get(), &found) != 0) {
    return failed(fmt::format("cannot look at {}: {}", where, reason_of(errno)));
  }
  if (!S_ISREG(found.st_mode)) return failed(where + " is not a regular file");
  if (found.st_nlink != 1) return failed(where + " has a second name, which is not allowed");
  if (found.st_uid != owner_) {
    return failed(fmt::format("{} belongs to another user (number {})", where, found.st_uid));
  }
  if ((found.st_mode & kOthers) != 0) {
    return failed(fmt::format(
        "other users have access to {}, so they may know what it holds: if nobody has read it, "
        "chmod 600 it; else remove it",
        where));
  }
  std::string text;
  if (!io::read_whole(file.get(), kFileBytesMax, text)) {
    return failed(fmt::format("cannot read {}: {}", where, reason_of(errno)));
  }
  if (text.size() > kFileBytesMax) return failed(where + " is longer than any file of infold");
  return text;
}

// The new file is complete on the disk before it gets its name, and the directory has the name on
// the disk before this returns.
Stated<void> StateDirectory::write(const char* name, std::string_view text) const {
  const std::string where = path_ + "/" + name;
  const std::string fresh = std::string(name) + ".new";
  const auto cannot = [&] {
    const int error = errno;
    unlinkat(folder_.get(), fresh.c_str(), 0);
    return failed(fmt::format("cannot write {}: {}", where, reason_of(error)));
  };
  // What an earlier process left behind when it was killed.
  unlinkat(folder_.get(), fresh.c_str(), 0);
  const io::FileDescriptor file(openat(folder_.get(), fresh.c_str(),
                                       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                       S_IRUSR | S_IWUSR));
  if (!file.is_open()) return cannot();
  // Root may write for the user of a switch, who must be able to read it.
  const bool is_owned = geteuid() == owner_ || fchown(file.get(), owner_, group_) == 0;
  if (!is_owned || !write_whole(file.get(), text) || fsync(file.get()) != 0) return cannot();
  if (renameat(folder_.get(), fresh.c_str(), folder_.get(), name) != 0) return cannot();
  if (fsync(folder_.get()) != 0) return cannot();
  return {};
}

}  // namespace infold::keys
