// SPDX-License-Identifier: Apache-2.0
//
// Notes of this process's collectives while a recording is on: when each began and ended, when the
// program waited for it, and when a backward pass waited for the calls that it had made. There is
// one recorder in a process, for all groups. trace::trace_of() makes a trace of the notes.
//
// Off, it costs one load of an atomic for each call. Any thread may call any method.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "trace/recording.h"

namespace infold::pytorch {

class Work;
struct Recipe;

class Recorder {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Which call of which recording.
  struct Note {
    std::uint64_t recording = 0;
    std::size_t call = 0;
  };

  static Recorder& of_process();
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }

  // False if a recording is on already.
  bool begin();
  void end_step();
  // Notes no more calls. end() comes next.
  void stop();
  // Waits for calls in flight, and gives the notes. Nothing if no recording is on or stopped.
  std::optional<trace::Recording> end();
  // Forgets the notes.
  void drop();

  // Nothing if no recording is on. `group` is the name that PyTorch gives the group.
  std::optional<Note> note_call(const Recipe& recipe, const std::string& group, Time begin);
  // The call has given the program its handle.
  void note_returned(const Note& note, const c10::intrusive_ptr<Work>& work);
  // Notes of earlier recordings have no effect.
  void note_end(const Note& note);
  void note_wait(const Note& note, Time begin);

 private:
  bool is_of_this_recording(const Note& note) const;
  void follow_backward_pass();
  void note_backward_wait(std::uint64_t recording, Time begin);

  std::atomic<bool> is_on_{false};
  std::mutex mutex_;  // of all that follows
  std::uint64_t recording_ = 0;
  trace::Recording notes_;
  std::vector<c10::weak_intrusive_ptr<Work>> works_;  // of calls that may not have ended
  int graph_task_ = -1;                               // the last backward pass that made a call
};

}  // namespace infold::pytorch
