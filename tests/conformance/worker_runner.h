// SPDX-License-Identifier: Apache-2.0
//
// Runs the steps of a vector that are about a worker: calls and packets go in, packets and results
// come out.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "core/worker/worker.h"
#include "sparse/block_sum.h"
#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {

bool is_worker_step(const Step& step);

class WorkerRunner {
 public:
  // Throws VectorError on the first difference.
  void run(const Step& step);

 private:
  // Memory of one call. The worker keeps pointers into it.
  struct Call {
    core::DataType dtype = core::DataType::i32;
    std::vector<std::byte> input;
    std::vector<std::byte> output;
    std::uint64_t first_transfer = 0;
    std::uint64_t last_transfer = 0;
    sparse::BlockSum block_sum;     // for a sparse call
    std::uint32_t block_steps = 0;  // its transfers; 0 for any other call
    std::vector<std::int64_t>
        rows;                     // for rows of one element: indices of the input, or of the result
    std::uint64_t row_count = 0;  // rows of the whole tensor; 0 if the tensor is given as a whole
  };

  void join(Cursor& cursor);
  void submit(const Step& step, Cursor& cursor);
  core::TransferRequest request_of(const Step& step, const PacketText& fields,
                                   const std::vector<std::string>& values, Call& call) const;
  bool start(Call& call, const core::TransferRequest& request, bool is_sparse);
  void begin_next_step(Call& call, std::uint32_t done);
  void finish(Call& call);
  void take_events();
  std::optional<core::Event> take_event();
  void receive(const Step& step, Cursor& cursor);
  void expect(const Step& step, Cursor& cursor);
  void expect_send(const Step& step, Cursor& cursor);
  void expect_done(const Step& step, Cursor& cursor);
  void expect_failed(const Step& step, Cursor& cursor);
  void expect_quiet(const Step& step);
  std::string drop_reason();

  std::uint16_t rank_ = 0;
  std::uint16_t world_ = 2;
  std::optional<core::Worker> worker_;
  base::Instant now_;
  core::WorkerCounters before_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::deque<core::Event> events_;  // the events of whole calls
  PacketText last_;                 // the defaults of a line
};

}  // namespace infold::conformance
