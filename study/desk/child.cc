// SPDX-License-Identifier: Apache-2.0
#include "study/desk/child.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <signal.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

namespace infold::desk {
namespace {

using Clock = std::chrono::steady_clock;

// After SIGTERM a benchmark's rank ends within milliseconds, but a launcher has to tell its ranks
// first.
constexpr std::chrono::seconds kGrace{3};
// Short compared with every wait here, but long enough to cost little processor time.
constexpr std::chrono::milliseconds kPause{10};

int open_for_writing(const std::filesystem::path& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) {
    throw std::runtime_error(fmt::format("cannot write {}: {}", path.string(), strerror(errno)));
  }
  return file;
}

// Runs between fork and exec, so it may only make system calls.
[[noreturn]] void become(char* const* words, int out, int log, pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(127);  // the parent died before prctl()
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  execvp(words[0], words);
  const char text[] = ": cannot be started\n";
  const bool said = write(STDERR_FILENO, words[0], strlen(words[0])) > 0 &&
                    write(STDERR_FILENO, text, sizeof(text) - 1) > 0;
  _exit(said ? 127 : 126);
}

}  // namespace

Child::Child(const Words& words, const std::filesystem::path& out,
             const std::filesystem::path& log) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  const int out_file = open_for_writing(out);
  const int log_file = open_for_writing(log);
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ == 0) become(pointers.data(), out_file, log_file, parent);
  const int reason = errno;
  close(out_file);
  close(log_file);
  if (pid_ < 0)
    throw std::runtime_error(fmt::format("cannot start {}: {}", words[0], strerror(reason)));
  // The child does the same. Doing it here as well makes sure that the group exists when the
  // constructor returns.
  setpgid(pid_, pid_);
}

Child::~Child() { stop(); }

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), status_(other.status_) {}

std::optional<int> Child::poll() {
  if (pid_ < 0 || status_) return status_;
  siginfo_t ended = {};
  if (waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0) {
    return status_;
  }
  if (ended.si_pid != pid_) return status_;
  // This also ends the child's own children. The number belongs to the child until waitpid().
  signal(SIGKILL);
  int status = 0;
  waitpid(pid_, &status, 0);
  status_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return status_;
}

void Child::signal(int number) {
  if (pid_ > 0) kill(-pid_, number);
}

void Child::ask_to_end() {
  if (!status_) signal(SIGTERM);
}

void Child::stop() {
  if (pid_ < 0 || status_) return;
  ask_to_end();
  const Clock::time_point limit = Clock::now() + kGrace;
  while (!poll() && Clock::now() < limit) std::this_thread::sleep_for(kPause);
  if (!status_) signal(SIGKILL);
  while (!poll()) std::this_thread::sleep_for(kPause);
}

ScratchFolder::ScratchFolder(const std::string& name) {
  std::string made = (std::filesystem::temp_directory_path() / (name + "-XXXXXX")).string();
  if (mkdtemp(made.data()) == nullptr) {
    throw std::runtime_error(fmt::format("cannot make a folder {}: {}", made, strerror(errno)));
  }
  path_ = made;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;  // on failure, files stay in a folder that the system empties
  std::filesystem::remove_all(path_, ignored);
}

Finished run_to_end(const Words& words, const std::filesystem::path& folder,
                    std::chrono::seconds limit, bool (*is_stopped)()) {
  const std::filesystem::path file = folder / "run-to-end.txt";
  std::filesystem::remove(file);
  Child child(words, file, file);
  const Clock::time_point end = Clock::now() + limit;
  while (!child.poll() && Clock::now() < end) {
    if (is_stopped != nullptr && is_stopped()) return {1, "stopped on request"};
    std::this_thread::sleep_for(kPause);
  }
  const auto status = child.poll();
  if (!status) return {1, fmt::format("{}: not done after {} s", words[0], limit.count())};
  return {*status, read_file(file)};
}

std::string trimmed(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \n");
  return end == std::string::npos ? "" : text.substr(0, end + 1);
}

std::string read_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace infold::desk
