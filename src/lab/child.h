// SPDX-License-Identifier: Apache-2.0
//
// A process that a command started, with its output in files. It ends with its owner: the
// destructor stops the process and all its children. If the owner's process is killed, the kernel
// ends the child. The terminal's Ctrl-C does not reach children; their owner decides. One thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace infold::lab {

using Words = std::vector<std::string>;

class Child {
 public:
  // Starts words[0], found by PATH. Throws std::runtime_error if files or process cannot be made. A
  // program that does not exist ends with status 127, as in a shell.
  Child(const Words& words, const std::filesystem::path& out, const std::filesystem::path& log);
  ~Child();
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  // Of the process, to read the kernel's counts of it. Requires: poll() has returned nothing yet.
  int pid() const { return pid_; }
  // Returns the exit status once the process has ended. If a signal ended it, the status is 128 and
  // the signal's number.
  std::optional<int> poll();
  // Sends SIGTERM to the process and its children. Returns at once.
  void ask_to_end();
  // Ends the process within some seconds; SIGKILL comes last.
  void stop();

 private:
  void signal(int number);

  int pid_ = -1;  // the group's number, too; -1 once moved from
  std::optional<int> status_;
};

// A folder for the children's output. The destructor removes it. Throws std::runtime_error if no
// folder can be made.
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
  std::string text;  // both outputs together
};

// Runs a command to its end. Stops it at the limit, or when `is_stopped` is given and returns true,
// and says so in `text`.
Finished run_to_end(const Words& words, const std::filesystem::path& folder,
                    std::chrono::seconds limit, bool (*is_stopped)() = nullptr);

// Returns the text without the spaces and line ends at its end.
std::string trimmed(const std::string& text);

std::string read_file(const std::filesystem::path& path);

}  // namespace infold::lab
