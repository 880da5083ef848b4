// SPDX-License-Identifier: Apache-2.0
//
// After a divergence, all ranks know of it, so each rank ends the job by itself. A message about
// the divergence could overtake the last exchange at a slower rank, which would then name the wrong
// cause.
#include "rank/checked_calls.h"

#include <utility>

#include "base/check.h"
#include "rank/divergence.h"

namespace infold::rank {
namespace {

// Only the root receives its result, and the parts of a reduce_scatter are meant to differ.
bool is_same_for_all(const CallRequest& request) {
  return request.collective == core::Collective::all_reduce ||
         request.collective == core::Collective::broadcast;
}

// In a sparse call, ranks may hold their results in different forms.
bool is_sparse(const CallRequest& request) {
  return request.rows.has_value() || request.options.layout != Layout::dense;
}

// The results of one tensor or of a list. An encoded result is decoded into `decoded`, because
// other ranks may hold theirs unencoded.
std::vector<MutableTensorView> results_of(const CallRequest& request,
                                          const std::vector<MutableTensorView>& list,
                                          std::vector<std::byte>& decoded) {
  if (request.is_list) return list;
  if (!request.encoded) return {request.output};
  const MutableEncodedView& sum = request.encoded_output;
  decoded.resize(sum.elements * element_bytes(sum.type));
  const MutableTensorView tensor(decoded.data(), sum.elements, sum.type);
  CHECK(decode(sum, tensor).has_value());
  return {tensor};
}

}  // namespace

CheckedCalls::CheckedCalls(int rank, int world, Begin begin)
    : rank_(rank), world_(world), begin_(std::move(begin)), thread_([this] { run(); }) {}

CheckedCalls::~CheckedCalls() { stop(); }

void CheckedCalls::add(Call& call, const CallRequest& request) {
  const base::MutexLock lock(mutex_);
  items_.push_back({&call, request, {request.list.begin(), request.list.end()}});
  changed_.notify_all();
}

void CheckedCalls::close() {
  const base::MutexLock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

void CheckedCalls::stop() {
  close();
  if (thread_.joinable()) thread_.join();
}

void CheckedCalls::run() {
  for (;;) {
    base::MutexLock lock(mutex_);
    while (!closed_ && items_.empty()) changed_.wait(lock);
    if (items_.empty()) return;
    Item item = std::move(items_.front());
    item.request.list = item.list;
    items_.pop_front();
    const bool left = closed_;
    lock.unlock();
    item.call->finish(left ? tl::unexpected(Error{Code::cancelled,
                                                  call_text(item.call->name()) +
                                                      ": this rank has left the job before it",
                                                  rank_, ""})
                           : make(item));
  }
}

Result<Completion> CheckedCalls::make(const Item& item) {
  const CallName name = item.call->name();
  if (!divergence_.empty()) {
    return tl::unexpected(Error{Code::aborted,
                                call_text(name) + ": the job had ended before (" + divergence_ +
                                    ")" + kMakeNewCommunicators,
                                -1, ""});
  }
  const Result<Completion> done = begin_(item.request, name).wait();
  if (!done || !is_same_for_all(item.request)) return done;
  std::optional<Error> error;
  if (is_sparse(item.request)) {
    error = check(item, [&](const Ranks& ranks) {
      return item.request.output_rows != nullptr
                 ? find_sparse_divergence(*item.request.output_rows, ranks)
                 : find_sparse_divergence(item.request.output, ranks);
    });
  } else {
    std::vector<std::byte> decoded;
    const std::vector<MutableTensorView> results = results_of(item.request, item.list, decoded);
    for (std::size_t i = 0; i < results.size() && !error; ++i) {
      error = check(item, [&](const Ranks& ranks) { return find_divergence(results[i], ranks); });
    }
  }
  if (error) return tl::unexpected(std::move(*error));
  return done;
}

template <typename Find>
std::optional<Error> CheckedCalls::check(const Item& item, Find&& find) {
  const CallName name = item.call->name();
  const CallOptions options = {.reduction = Reduction::max,
                               .deadline = item.request.options.deadline};
  const Ranks ranks = {rank_, world_, [&](std::span<std::int32_t> in_place) -> Result<void> {
                         const MutableTensorView view(in_place);
                         const CallRequest request = {core::Collective::all_reduce, view, view, 0,
                                                      options};
                         const auto done = begin_(request, name).wait();
                         if (!done) return tl::unexpected(done.error());
                         return {};
                       }};
  const Result<std::optional<Divergence>> found = find(ranks);
  if (!found) return found.error();
  if (!*found) return std::nullopt;
  divergence_ = call_text(name) + ": ranks hold different results: " + describe(**found);
  return Error{Code::mismatch, divergence_ + kMakeNewCommunicators, (*found)->ranks.front(),
               "result"};
}

}  // namespace infold::rank
