// SPDX-License-Identifier: Apache-2.0
//
// Notes on this process's collectives while a recording is on: when each began and ended, when the
// program waited for it, and when a backward pass waited for the calls that it had made. A process
// has one recorder for all groups. trace::trace_of() makes a trace of the notes.
//
// While no recording is on, it costs one load of an atomic for each call. Any thread may call any
// method.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <c10/util/intrusive_ptr.h>

#include "base/mutex.h"
#include "trace/recording.h"

namespace infold::pytorch {

class Work;
struct Recipe;

class Recorder {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // Identifies a call of a recording.
  struct Note {
    std::uint64_t recording = 0;
    std::size_t call = 0;
  };

  static Recorder& of_process();
  bool is_on() const { return is_on_.load(std::memory_order_relaxed); }

  // Returns false if a recording is already on.
  bool begin();
  void end_step();
  // Stops noting calls. end() comes next.
  void stop();
  // Waits for calls in flight, and returns the notes. Returns nothing if no recording is on or
  // stopped.
  std::optional<trace::Recording> end();
  // Forgets the notes.
  void drop();

  // Returns nothing if no recording is on. `group` is the name that PyTorch gives the group.
  std::optional<Note> note_call(const Recipe& recipe, const std::string& group, Time begin);
  // The call has returned its handle to the program.
  void note_returned(const Note& note, const c10::intrusive_ptr<Work>& work);
  // These ignore notes of earlier recordings.
  void note_end(const Note& note);
  void note_wait(const Note& note, Time begin);

 private:
  bool is_of_this_recording(const Note& note) const REQUIRES(mutex_);
  void follow_backward_pass();
  void note_backward_wait(std::uint64_t recording, Time begin);

  std::atomic<bool> is_on_{false};
  base::Mutex mutex_;
  std::uint64_t recording_ GUARDED_BY(mutex_) = 0;
  trace::Recording notes_ GUARDED_BY(mutex_);
  // The works of calls that may still be in flight.
  std::vector<c10::weak_intrusive_ptr<Work>> works_ GUARDED_BY(mutex_);
  int graph_task_ GUARDED_BY(mutex_) = -1;  // the last backward pass that made a call
};

}  // namespace infold::pytorch
