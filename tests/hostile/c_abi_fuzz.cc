// SPDX-License-Identifier: Apache-2.0
//
// Calls the C ABI as a careless caller does. The fuzzer chooses enums, sizes, roots and null
// pointers. Ranks disagree, and calls are cancelled or destroyed at any time. Codes and messages
// must stay valid, and nothing may hang. Memory that the header asks the caller to provide is
// provided.
#include <array>
#include <climits>
#include <cstring>
#include <deque>
#include <vector>

#include <infold/infold.h>

#include "base/check.h"
#include "tests/hostile/operations.h"

namespace {

using infold::hostile::Operations;

constexpr std::int32_t kWorldMax = 3;
constexpr std::size_t kElementsMax = 2048;
// Short, because other ranks wait this long for a rank that the fuzzer leaves out.
constexpr std::int64_t kDeadlineNs = 5'000'000;

void check_code(infold_code code) {
  CHECK(code >= INFOLD_OK && code <= INFOLD_ERROR_PENDING);
  CHECK(infold_code_name(code) != nullptr);
  if (code != INFOLD_OK) CHECK(std::strlen(infold_error_message()) > 0);
  CHECK(infold_error_rank() >= -1);
}

// Returns mostly a valid value, and sometimes one far from any valid value.
std::int32_t any_enum(Operations& operations, std::int32_t count) {
  const std::uint32_t choice = operations.below(20);
  if (choice == 0) return -1;
  if (choice == 1) return INT32_MAX;
  return static_cast<std::int32_t>(choice) % count;
}

class Run {
 public:
  explicit Run(Operations& operations) : operations_(operations) {
    infold_local_group_options options = infold_local_group_options_default();
    static constexpr std::array<std::int32_t, 8> worlds = {1, 2, 3, 2, 0, -1, 1 << 20, INT32_MAX};
    options.world = worlds[operations.below(worlds.size())];
    options.wire = any_enum(operations, 5);
    options.deadline_ns = kDeadlineNs;
    options.rack_size = static_cast<std::int32_t>(operations.below(4)) - 1;
    options.loss = operations.below(20) == 0 ? -1.0 : 0.0;
    if (operations.below(20) == 0) options.struct_bytes = operations.byte();
    if (operations.below(20) == 0) options.mtu_bytes = operations.byte();
    const infold_code code = infold_local_group_create(&options, ranks_.data());
    check_code(code);
    if (code != INFOLD_OK) {
      ranks_ = {};
      return;
    }
    CHECK(options.world >= 1 && options.world <= kWorldMax);
    world_ = static_cast<std::uint32_t>(options.world);
  }

  ~Run() {
    for (infold_handle* const handle : handles_) {
      infold_cancel(handle);
      infold_handle_destroy(handle);
    }
    for (infold_communicator* const rank : ranks_) infold_communicator_destroy(rank);
    for (infold_rows* const rows : rows_) infold_rows_destroy(rows);
  }

  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void go() {
    for (int left = 24; left > 0 && !operations_.done(); --left) step();
  }

 private:
  void step() {
    const std::uint32_t choice = operations_.below(11);
    const bool is_call = choice < 5 || choice > 7;
    if (is_call) return start(choice);
    if (handles_.empty()) return;
    infold_handle* const handle = handles_[operations_.byte() % handles_.size()];
    std::int32_t summed = 0;
    if (choice == 5) check_code(infold_wait(handle, &summed));
    if (choice == 6) check_code(infold_wait_for(handle, operations_.byte() - 2, nullptr));
    if (choice == 7) infold_cancel(handle);
    CHECK(infold_test(handle) == 0 || infold_test(handle) == 1);
  }

  void start(std::uint32_t call) {
    const std::uint32_t rank = operations_.below(kWorldMax + 1);
    infold_communicator* const communicator = rank < world_ ? ranks_[rank] : nullptr;
    const std::size_t elements = operations_.byte() * kElementsMax / 255;
    const infold_type type = any_enum(operations_, 8);
    const auto root = static_cast<std::int32_t>(operations_.below(6)) - 1;
    infold_call_options options = infold_call_options_default();
    options.op = any_enum(operations_, 4);
    options.wire = any_enum(operations_, 5);
    if (call > 7) options.priority = any_enum(operations_, 3);
    if (operations_.below(20) == 0) options.struct_bytes = operations_.byte();
    const infold_call_options* const given = operations_.below(2) == 0 ? nullptr : &options;
    void* const memory = operations_.below(20) == 0 ? nullptr : fresh_memory();
    void* const parts = call > 8 ? fresh_memory() : nullptr;
    infold_handle* handle = nullptr;
    infold_code code = INFOLD_OK;
    switch (call) {
      case 0: code = start_rows(communicator, memory, elements, type, given, &handle); break;
      case 1:
        code = infold_all_reduce(communicator, memory, memory, elements, type, given, &handle);
        break;
      case 2:
        code = infold_reduce(communicator, memory, memory, elements, type, root, given, &handle);
        break;
      case 3:
        code = infold_broadcast(communicator, memory, elements, type, root, given, &handle);
        break;
      case 4: code = infold_barrier(communicator, given, &handle); break;
      case 8: code = start_list(communicator, memory, elements, type, given, &handle); break;
      case 9:
        code = infold_all_gather(communicator, memory, parts, elements, type, given, &handle);
        break;
      default:
        code = infold_reduce_scatter(communicator, parts, memory, elements, type, given, &handle);
    }
    check_code(code);
    CHECK((handle != nullptr) == (code == INFOLD_OK));
    if (handle != nullptr) handles_.push_back(handle);
  }

  // Sums a list of the memory and of an empty tensor.
  static infold_code start_list(infold_communicator* communicator, void* memory,
                                std::size_t elements, infold_type type,
                                const infold_call_options* options, infold_handle** handle) {
    const std::array<void*, 2> tensors = {memory, nullptr};
    const std::array<std::size_t, 2> sizes = {elements, 0};
    return infold_all_reduce_list(communicator, memory == nullptr ? nullptr : tensors.data(),
                                  sizes.data(), sizes.size(), type, options, handle);
  }

  // Sums rows whose indices mostly rise, in a tensor that mostly has that many rows.
  infold_code start_rows(infold_communicator* communicator, void* memory, std::size_t elements,
                         infold_type type, const infold_call_options* options,
                         infold_handle** handle) {
    infold_rows_view input = infold_rows_view_default();
    std::vector<std::int64_t>& indices = indices_.emplace_back();
    std::int64_t next = 0;
    for (std::uint32_t left = operations_.below(16); left > 0; --left) {
      indices.push_back(next);
      next += operations_.below(20) == 0 ? operations_.byte() - 128 : 1 + operations_.below(5);
    }
    input.row_elements = operations_.below(4) == 0 ? operations_.byte() : 32;
    input.rows = operations_.below(10) == 0 ? SIZE_MAX / (1 + operations_.byte()) : 60;
    input.count = operations_.below(20) == 0 ? elements : indices.size();
    // The library would read values that are missing, so the caller provides all that the header
    // asks for.
    if (input.count > indices.size()) indices.resize(input.count);
    if (input.count * input.row_elements > kElementsMax * kWorldMax) input.count = 0;
    input.indices = indices.data();
    input.values = memory;
    input.type = type;
    if (operations_.below(20) == 0) input.struct_bytes = operations_.byte();
    if (operations_.below(2) == 0 && input.rows == 60) {
      void* const whole = memory_.emplace_back(60 * 255).data();
      return infold_all_reduce_rows_dense(communicator, &input, whole, options, handle);
    }
    infold_rows* rows = nullptr;
    check_code(infold_rows_create(&rows));
    rows_.push_back(rows);
    return infold_all_reduce_rows(communicator, &input, rows, options, handle);
  }

  // Memory for a part of each rank.
  void* fresh_memory() {
    memory_.emplace_back(kWorldMax * kElementsMax);
    return memory_.back().data();
  }

  Operations& operations_;
  std::array<infold_communicator*, kWorldMax> ranks_ = {};
  std::uint32_t world_ = 0;
  std::vector<infold_handle*> handles_;
  std::vector<std::vector<double>> memory_;  // one block a call; the widest element is 8 bytes
  std::vector<infold_rows*> rows_;
  std::deque<std::vector<std::int64_t>> indices_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Operations operations(data, size);
  Run(operations).go();
  return 0;
}
