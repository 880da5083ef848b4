// SPDX-License-Identifier: Apache-2.0
//
// A process that a command started, with its output in files. It ends with its owner: a destroyed
// child is stopped with all its own children, and the kernel ends it if this process is killed.
// Children are out of reach of the terminal's Ctrl-C; their owner decides. One thread.
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
  // Starts words[0], found by PATH. Throws std::runtime_error if files or process cannot be made;
  // a program that does not exist ends with status 127, as in a shell.
  Child(const Words& words, const std::filesystem::path& out, const std::filesystem::path& log);
  ~Child();
  Child(Child&& other) noexcept;
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  Child& operator=(Child&&) = delete;

  // The exit status once it has ended, 128 and the signal's number if one ended it.
  std::optional<int> poll();
  // Asks it and its children to end. Returns at once.
  void ask_to_end();
  // Ends it within some seconds, by force if need be.
  void stop();

 private:
  void signal(int number);

  int pid_ = -1;  // also the group's; -1 once moved from
  std::optional<int> status_;
};

// A folder for what children print, gone with its owner. Throws std::runtime_error if there can be
// none.
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

// Runs a command to its end, or stops it at the limit and reports that in `text`. The same as soon
// as `is_stopped`, if it is given, returns true.
Finished run_to_end(const Words& words, const std::filesystem::path& folder,
                    std::chrono::seconds limit, bool (*is_stopped)() = nullptr);

// Without the spaces and line ends behind it.
std::string trimmed(const std::string& text);

std::string read_file(const std::filesystem::path& path);

}  // namespace infold::lab
