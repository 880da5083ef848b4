// SPDX-License-Identifier: Apache-2.0
//
// The delegate's collectives, on tensors of the host. They begin when all ranks have compared the
// fingerprints of their calls.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <utility>

#include <torch/csrc/distributed/c10d/Utils.hpp>

#include "python/backend/backend.h"
#include "python/backend/delegate/host_copies.h"
#include "python/backend/forked.h"
#include "python/backend/lists/list_checks.h"

namespace infold::pytorch {

namespace {

using ::c10d::OpType;

// How many rows go to each rank or come from each: the given splits, or equal parts.
std::vector<std::int64_t> all_splits(const at::Tensor& tensor,
                                     const std::vector<std::int64_t>& splits, int ranks) {
  constexpr const char* kIn = "infold: all_to_all_single: ";
  TORCH_CHECK(tensor.dim() > 0, kIn, "a tensor has no dimension to split; pass one with rows");
  const std::int64_t rows = tensor.size(0);
  if (splits.empty()) {
    TORCH_CHECK(rows % ranks == 0, kIn, "a tensor has ", rows, " rows for ", ranks,
                " ranks; without split sizes all parts must be equal");
    return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), rows / ranks);
  }
  TORCH_CHECK(splits.size() == static_cast<std::size_t>(ranks), kIn, splits.size(),
              " split sizes; with ", ranks, " ranks there must be ", ranks);
  const auto sum = std::accumulate(splits.begin(), splits.end(), std::int64_t{0});
  TORCH_CHECK(sum == rows && std::ranges::min(splits) >= 0, kIn, "the split sizes add up to ", sum,
              " and the tensor has ", rows, " rows; they must be 0 or more and add up to the rows");
  return splits;
}

std::vector<std::int64_t> elements_of(const at::Tensor& tensor, std::vector<std::int64_t> splits) {
  const std::int64_t rows = tensor.size(0);
  for (std::int64_t& split : splits) split *= rows == 0 ? 0 : tensor.numel() / rows;
  return splits;
}

void check_one_type(const at::Tensor& input, const at::Tensor& output, const char* collective) {
  TORCH_CHECK(input.scalar_type() == output.scalar_type(), "infold: ", collective,
              ": the inputs and the outputs are of ", input.scalar_type(), " and ",
              output.scalar_type(), "; they must be of one type");
}

// What a rank knows of a call after it has sent the call's fingerprint.
struct Told {
  c10::intrusive_ptr<::c10d::Store> store;
  std::string parcels_name;  // the prefix of keys in the store
  int rank = 0;
  CallFingerprint fingerprint;
  at::Tensor rows;                              // the fingerprints of all ranks
  std::chrono::steady_clock::time_point until;  // the call's own deadline
};

// Throws if the rank does not write its parcels in time. The store's own timeout is half an hour.
std::vector<std::uint8_t> said_by(std::int64_t rank, const Told& told) {
  const std::string key = told.parcels_name + std::to_string(rank);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      told.until - std::chrono::steady_clock::now());
  try {
    told.store->wait({key}, std::max(left, std::chrono::milliseconds(1)));
  } catch (const std::exception& error) {
    const std::string why =
        std::string(error.what()).substr(0, std::string(error.what()).find('\n'));
    C10_THROW_ERROR(DistBackendError,
                    c10::str("infold: ", told.fingerprint.name(),
                             ": ranks send other sizes than expected, and rank ", rank,
                             " did not report its sizes in time. The store says: ", why));
  }
  return told.store->get(key);
}

// The parcels of all ranks, exchanged over the group's store. Without it, only two ranks might know
// of a mismatch.
std::vector<Parcels> parcels_of_all(const Told& told) {
  const Parcels& own = told.fingerprint.parcels();
  std::vector<std::int64_t> counts = own.sent;
  counts.insert(counts.end(), own.received.begin(), own.received.end());
  const std::size_t bytes = counts.size() * sizeof(counts[0]);
  const auto* const first = reinterpret_cast<const std::uint8_t*>(counts.data());
  const std::vector<std::uint8_t> said_here(first, first + bytes);
  told.store->set(told.parcels_name + std::to_string(told.rank), said_here);
  std::vector<Parcels> all;
  for (std::int64_t rank = 0; rank < told.rows.size(0); ++rank) {
    const std::vector<std::uint8_t> said = said_by(rank, told);
    TORCH_CHECK(said.size() == bytes, "infold: rank ", rank, " wrote ", said.size(),
                " bytes about its sizes, and not ", bytes);
    std::memcpy(counts.data(), said.data(), bytes);
    const auto middle = counts.begin() + static_cast<std::ptrdiff_t>(own.sent.size());
    all.push_back({{counts.begin(), middle}, {middle, counts.end()}});
  }
  return all;
}

// All ranks find the same result, so either all continue or none does. The job's other calls are
// not affected.
void check_agreement(const Told& told) {
  std::optional<std::string> difference = CallFingerprint::difference(told.rows);
  if (!difference && !CallFingerprint::parcels_match(told.rows)) {
    difference = describe_parcels(parcels_of_all(told));
  }
  if (!difference) return;
  C10_THROW_ERROR(DistBackendError, c10::str("infold: ", told.fingerprint.name(), ": ", *difference,
                                             "; nothing was sent, and the group goes on"));
}

}  // namespace

// Begins with a barrier, which does not match any call that moves data, and then sends the
// fingerprints.
Backend::Works Backend::tell_all(const CallFingerprint& fingerprint, const at::Tensor& rows,
                                 std::chrono::milliseconds timeout) {
  Recipe recipe = {OpType::BARRIER, "infold:tell_all"};
  const auto meet = [call = call_options(timeout)](Communicator& communicator) {
    return communicator.barrier(call);
  };
  recipe.steps.push_back({{}, meet, {}});
  add_gather(recipe, rows, fingerprint.row(), timeout);
  return submit(std::move(recipe), timeout);
}

Backend::Works Backend::delegated(const HostCopies& copies, const CallFingerprint& fingerprint,
                                  DelegatedWork::Begin begin, std::chrono::milliseconds timeout) {
  refuse_child(process_);
  if (size_ == 1) return copies.after(begin());
  const base::MutexLock order(delegation_order_);
  delegation_->prepare();
  const std::string name = "parcels/" + std::to_string(++calls_delegated_) + "/";
  const at::Tensor rows = rows_like(fingerprint.row(), static_cast<std::size_t>(size_));
  const Told told = {store_, name,
                     rank_,  fingerprint,
                     rows,   std::chrono::steady_clock::now() + call_options(timeout).deadline};
  const auto begin_if_agreed = [told, begin = std::move(begin)] {
    check_agreement(told);
    return begin();
  };
  const auto work = copies.after_check({tell_all(fingerprint, rows, timeout), begin_if_agreed,
                                        fingerprint.name(), watch_, completions_});
  delegation_->submit(work);
  const base::MutexLock lock(delegated_mutex_);
  delegated_.push_back(work);
  return work;
}

Backend::Works Backend::gather(std::vector<Tensors>& outputs, Tensors& inputs,
                               const ::c10d::GatherOptions& options) {
  check_root(options.rootRank, size_, "gather");
  ::c10d::assertSingleElementInput(refusal_of("gather"), inputs);
  const at::Tensor& input = inputs.front();
  check_tensor(input, "gather");
  if (rank_ == options.rootRank) {
    check_one_for_each_rank(Argument::output, outputs, size_, "gather");
    check_alike(outputs[0], input, "gather");
  } else {
    check_empty(Argument::output, outputs, "gather");
  }
  HostCopies copies(Use::move);
  std::vector<Tensors> to;
  for (const Tensors& list : outputs) to.push_back(copies.written(list));
  return delegated(
      copies, CallFingerprint(OpType::GATHER, input).has_root(options.rootRank),
      [delegate = delegate_, to, from = copies.read(inputs), options]() mutable {
        return delegate->gather(to, from, options);
      },
      options.timeout);
}

Backend::Works Backend::scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                const ::c10d::ScatterOptions& options) {
  check_root(options.rootRank, size_, "scatter");
  ::c10d::assertSingleElementOutput(refusal_of("scatter"), outputs);
  const at::Tensor& output = outputs.front();
  check_tensor(output, "scatter");
  if (rank_ == options.rootRank) {
    check_one_for_each_rank(Argument::input, inputs, size_, "scatter");
    check_alike(inputs[0], output, "scatter");
  } else {
    check_empty(Argument::input, inputs, "scatter");
  }
  HostCopies copies(Use::move);
  std::vector<Tensors> from;
  for (const Tensors& list : inputs) from.push_back(copies.read(list));
  return delegated(
      copies, CallFingerprint(OpType::SCATTER, output).has_root(options.rootRank),
      [delegate = delegate_, to = copies.written(outputs), from, options]() mutable {
        return delegate->scatter(to, from, options);
      },
      options.timeout);
}

Backend::Works Backend::alltoall_base(at::Tensor& output, at::Tensor& input,
                                      std::vector<std::int64_t>& output_splits,
                                      std::vector<std::int64_t>& input_splits,
                                      const ::c10d::AllToAllOptions& options) {
  check_tensor(output, "all_to_all_single");
  check_tensor(input, "all_to_all_single");
  check_one_type(input, output, "all_to_all_single");
  std::vector<std::int64_t> outs = all_splits(output, output_splits, size_);
  std::vector<std::int64_t> ins = all_splits(input, input_splits, size_);
  const Parcels parcels = {elements_of(input, ins), elements_of(output, outs)};
  HostCopies copies(Use::move);
  return delegated(
      copies, CallFingerprint(OpType::ALLTOALL_BASE, input.scalar_type(), rank_, parcels),
      [delegate = delegate_, to = copies.written(output), from = copies.read(input), outs, ins,
       options]() mutable { return delegate->alltoall_base(to, from, outs, ins, options); },
      options.timeout);
}

// The delegate's alltoall takes lists of one size only, so this uses its alltoall_base.
Backend::Works Backend::alltoall(Tensors& outputs, Tensors& inputs,
                                 const ::c10d::AllToAllOptions& options) {
  check_parcels(outputs, size_, "all_to_all");
  check_parcels(inputs, size_, "all_to_all");
  check_one_type(inputs[0], outputs[0], "all_to_all");
  Parcels parcels;
  for (const at::Tensor& input : inputs) parcels.sent.push_back(input.numel());
  for (const at::Tensor& output : outputs) parcels.received.push_back(output.numel());
  HostCopies copies(Use::move);
  return delegated(
      copies, CallFingerprint(OpType::ALLTOALL, inputs[0].scalar_type(), rank_, parcels),
      [delegate = delegate_, to = copies.written_joined(outputs), from = copies.read_joined(inputs),
       outs = parcels.received, ins = parcels.sent,
       options]() mutable { return delegate->alltoall_base(to, from, outs, ins, options); },
      options.timeout);
}

Backend::Works Backend::send(Tensors& tensors, int to, int tag) {
  refuse_child(process_);
  check_tensor(only(tensors, "send"), "send");
  const HostCopies copies(Use::send);
  return copies.after(messages_.send(copies.read(tensors[0]), {to, tag}));
}

Backend::Works Backend::recv(Tensors& tensors, int from, int tag) {
  refuse_child(process_);
  check_tensor(only(tensors, "recv"), "recv");
  HostCopies copies(Use::send);
  const at::Tensor host = copies.written(tensors[0]);
  return copies.after(messages_.receive(host, {from, tag}));
}

Backend::Works Backend::recvAnysource(Tensors& tensors, int tag) { return recv(tensors, -1, tag); }

void Backend::monitoredBarrier(const ::c10d::BarrierOptions& options, bool wait_all) {
  refuse_child(process_);
  delegate_->monitoredBarrier(options, wait_all);
}

}  // namespace infold::pytorch
