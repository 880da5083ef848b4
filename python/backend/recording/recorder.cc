// SPDX-License-Identifier: Apache-2.0
#include "python/backend/recording/recorder.h"

#include <utility>

#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/graph_task.h>

#include "python/backend/lists/list_checks.h"
#include "python/backend/work.h"

namespace infold::pytorch {
namespace {

using ::c10d::OpType;
using trace::CollectiveKind;

std::int64_t nanoseconds_of(Recorder::Time at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

std::int64_t now_ns() { return nanoseconds_of(std::chrono::steady_clock::now()); }

CollectiveKind kind_of(OpType type) {
  switch (type) {
    case OpType::BROADCAST: return CollectiveKind::broadcast;
    case OpType::REDUCE: return CollectiveKind::reduce;
    case OpType::ALLGATHER:
    case OpType::_ALLGATHER_BASE:
    case OpType::ALLGATHER_COALESCED: return CollectiveKind::all_gather;
    case OpType::REDUCE_SCATTER:
    case OpType::_REDUCE_SCATTER_BASE:
    case kListReduceScatter: return CollectiveKind::reduce_scatter;
    case OpType::BARRIER: return CollectiveKind::barrier;
    default: return CollectiveKind::all_reduce;
  }
}

// The type under which elements travel, for data_type_name(). Complex numbers travel as pairs of
// floats, other types as bytes.
DataType type_of(at::ScalarType type) {
  switch (type) {
    case at::kFloat:
    case at::kComplexFloat: return DataType::f32;
    case at::kHalf: return DataType::f16;
    case at::kBFloat16: return DataType::bf16;
    case at::kDouble:
    case at::kComplexDouble: return DataType::f64;
    case at::kChar: return DataType::i8;
    case at::kInt: return DataType::i32;
    case at::kLong: return DataType::i64;
    default: return DataType::u8;
  }
}

// The bytes of a tensor, or of a sparse tensor's values.
std::uint64_t bytes_of(const at::Tensor& tensor) {
  const std::int64_t elements = tensor.is_sparse() ? tensor._values().numel() : tensor.numel();
  return static_cast<std::uint64_t>(elements) * tensor.element_size();
}

}  // namespace

Recorder& Recorder::of_process() {
  static Recorder recorder;
  return recorder;
}

bool Recorder::begin() {
  const base::MutexLock lock(mutex_);
  if (is_on()) return false;
  ++recording_;
  notes_ = {};
  works_.clear();
  graph_task_ = -1;
  const auto day = std::chrono::system_clock::now().time_since_epoch();
  notes_.unix_us = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(day).count());
  notes_.begin_ns = now_ns();
  is_on_ = true;
  return true;
}

void Recorder::end_step() {
  const base::MutexLock lock(mutex_);
  if (is_on()) notes_.step_ends_ns.push_back(now_ns());
}

void Recorder::stop() {
  const base::MutexLock lock(mutex_);
  if (!is_on()) return;
  notes_.end_ns = now_ns();
  is_on_ = false;
}

std::optional<trace::Recording> Recorder::end() {
  stop();
  std::vector<c10::weak_intrusive_ptr<Work>> works;
  {
    const base::MutexLock lock(mutex_);
    if (notes_.end_ns == 0) return std::nullopt;
    works.swap(works_);
  }
  // Only the ends of these works are still noted.
  for (const c10::weak_intrusive_ptr<Work>& each : works) {
    if (const c10::intrusive_ptr<Work> work = each.lock()) work->conclude();
  }
  const base::MutexLock lock(mutex_);
  ++recording_;
  return std::exchange(notes_, {});
}

void Recorder::drop() {
  const base::MutexLock lock(mutex_);
  is_on_ = false;
  ++recording_;
  notes_ = {};
  works_.clear();
}

std::optional<Recorder::Note> Recorder::note_call(const Recipe& recipe, const std::string& group,
                                                  Time begin) {
  if (!is_on()) return std::nullopt;
  trace::RecordedCall call;
  call.kind = kind_of(recipe.type);
  call.name = recipe.title;
  call.group = group;
  call.root = recipe.root;
  for (const at::Tensor& each : recipe.inputs) call.bytes += bytes_of(each);
  if (!recipe.inputs.empty()) {
    call.data_type = data_type_name(type_of(recipe.inputs.front().scalar_type()));
  }
  call.begin_ns = call.returned_ns = nanoseconds_of(begin);
  follow_backward_pass();
  const base::MutexLock lock(mutex_);
  if (!is_on()) return std::nullopt;
  notes_.calls.push_back(std::move(call));
  return Note{recording_, notes_.calls.size() - 1};
}

void Recorder::note_returned(const Note& note, const c10::intrusive_ptr<Work>& work) {
  // released without the lock, because a tensor's last owner may need the interpreter
  std::vector<c10::intrusive_ptr<Work>> held;
  const base::MutexLock lock(mutex_);
  if (!is_of_this_recording(note)) return;
  notes_.calls[note.call].returned_ns = now_ns();
  std::erase_if(works_, [&held](const auto& each) {
    held.push_back(each.lock());
    return !held.back() || held.back()->has_ended();
  });
  works_.emplace_back(work);
}

void Recorder::note_end(const Note& note) {
  const base::MutexLock lock(mutex_);
  if (!is_of_this_recording(note)) return;
  auto& end_ns = notes_.calls[note.call].end_ns;
  if (!end_ns) end_ns = now_ns();
}

void Recorder::note_wait(const Note& note, Time begin) {
  const base::MutexLock lock(mutex_);
  if (!is_on() || !is_of_this_recording(note)) return;
  notes_.waits.push_back({{note.call}, nanoseconds_of(begin), now_ns()});
}

bool Recorder::is_of_this_recording(const Note& note) const { return note.recording == recording_; }

// DistributedDataParallel waits for futures, which do not report that. It waits in a callback at
// the end of the backward pass, which it queues after its last call. A callback that is queued at
// the first call therefore runs before it, and a callback that this one queues runs after it.
void Recorder::follow_backward_pass() {
  const int task = torch::autograd::get_current_graph_task_id();
  if (task < 0) return;
  std::uint64_t recording = 0;
  {
    const base::MutexLock lock(mutex_);
    if (std::exchange(graph_task_, task) == task) return;
    recording = recording_;
  }
  auto& engine = torch::autograd::Engine::get_default_engine();
  engine.queue_callback([this, recording, &engine] {
    const Time begin = std::chrono::steady_clock::now();
    engine.queue_callback([this, recording, begin] { note_backward_wait(recording, begin); });
  });
}

void Recorder::note_backward_wait(std::uint64_t recording, Time begin) {
  const base::MutexLock lock(mutex_);
  if (!is_on() || recording != recording_) return;
  notes_.waits.push_back({{}, nanoseconds_of(begin), now_ns()});
}

}  // namespace infold::pytorch
