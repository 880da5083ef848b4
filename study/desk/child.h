// SPDX-License-Identifier: Apache-2.0
//
// A process that a command has started, with its output in files. It ends with its owner: the
// destructor stops the process and all its children, and the kernel ends the child if the owner's
// process is killed. The terminal's Ctrl-C does not reach children; their owner decides. Used by
// one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace infold::desk {

using Words = std::vector<std::string>;

class Child {
 public:
  // Starts words[0], which is searched in PATH. Throws std::runtime_error if the files or the
  // process cannot be created. A program that does not exist ends with status 127, as in a shell.
  Child(const Words& words, const std::filesystem::path& out, const std::filesystem::path& log);
  ~Child();
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  // Returns the process's number, for reading the kernel's counters of the process. Requires:
  // poll() has returned nothing yet.
  int pid() const { return pid_; }
  // Returns the exit status once the process has ended. If a signal ended it, the status is 128
  // plus the signal's number.
  std::optional<int> poll();
  // Sends SIGTERM to the process and its children. Returns at once.
  void ask_to_end();
  // Ends the process within a few seconds, with SIGKILL as the last resort.
  void stop();

 private:
  void signal(int number);

  int pid_ = -1;  // also the group's number; -1 once moved from
  std::optional<int> status_;
};

// A folder for the children's output, which the destructor removes. Throws std::runtime_error if
// the folder cannot be created.
class ScratchFolder {
 public:
  explicit ScratchFolder(const std::string& name);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Finished {
  int status = 0;
  std::string text;  // standard output and standard error together
};

// Runs a command to its end. Stops it at the limit, or when `is_stopped` returns true, and reports
// that in `text`.
Finished run_to_end(const Words& words, const std::filesystem::path& folder,
                    std::chrono::seconds limit, bool (*is_stopped)() = nullptr);

// Returns the text without spaces and line ends at its end.
std::string trimmed(const std::string& text);

std::string read_file(const std::filesystem::path& path);

}  // namespace infold::desk
