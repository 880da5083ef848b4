// SPDX-License-Identifier: Apache-2.0
//
// Communicator: each method makes a request to the member behind it.
#include <utility>

#include <infold/communicator.h>

#include "rank/member.h"

namespace infold {
namespace {

using core::Collective;

// A communicator without a member is not in a job, and its handle reports that.
Handle start(const std::shared_ptr<rank::Member>& member, const rank::CallRequest& request) {
  return member ? member->start(request) : Handle();
}

// If the sizes are too large, the call is refused before their product is used.
rank::CallRequest request_of(const RowsView& rows, const CallOptions& options) {
  rank::CallRequest request{Collective::all_reduce, {}, {}, 0, options};
  request.input = {nullptr, rows.rows * rows.row_elements, rows.values.type};
  request.rows = rows;
  return request;
}

}  // namespace

Communicator::Communicator(std::shared_ptr<rank::Member> member) : member_(std::move(member)) {}

Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    if (member_) member_->leave();
    member_ = std::move(other.member_);
  }
  return *this;
}

Communicator::~Communicator() {
  if (member_) member_->leave();
}

Handle Communicator::all_reduce(TensorView input, MutableTensorView output,
                                const CallOptions& options) {
  return start(member_, {Collective::all_reduce, input, output, 0, options});
}

Handle Communicator::all_reduce(MutableTensorView in_place, const CallOptions& options) {
  return start(member_, {Collective::all_reduce, in_place, in_place, 0, options});
}

Handle Communicator::all_reduce(const RowsView& input, Rows& output, const CallOptions& options) {
  rank::CallRequest request = request_of(input, options);
  request.output_rows = &output;
  return start(member_, request);
}

Handle Communicator::all_reduce(const RowsView& input, MutableTensorView output,
                                const CallOptions& options) {
  rank::CallRequest request = request_of(input, options);
  request.output = output;
  return start(member_, request);
}

Handle Communicator::all_reduce(const EncodedView& input, const MutableEncodedView& output,
                                const CallOptions& options) {
  rank::CallRequest request{Collective::all_reduce, {}, {}, 0, options};
  request.input = {nullptr, input.elements, input.type};
  request.encoded = input;
  request.encoded_output = output;
  if (options.wire == WireFormat::automatic) request.options.wire = input.wire;
  return start(member_, request);
}

Handle Communicator::all_reduce_list(std::span<const MutableTensorView> tensors,
                                     const CallOptions& options) {
  rank::CallRequest request{Collective::all_reduce, {}, {}, 0, options};
  request.is_list = true;
  request.list = tensors;
  if (!tensors.empty()) request.input.type = tensors.front().type;
  return start(member_, request);
}

Handle Communicator::reduce(TensorView input, MutableTensorView output, int root,
                            const CallOptions& options) {
  return start(member_, {Collective::reduce, input, output, root, options});
}

Handle Communicator::broadcast(MutableTensorView tensor, int root, const CallOptions& options) {
  return start(member_, {Collective::broadcast, tensor, tensor, root, options});
}

Handle Communicator::all_gather(TensorView input, MutableTensorView output,
                                const CallOptions& options) {
  return start(member_, {Collective::broadcast, input, output, 0, options, true});
}

Handle Communicator::reduce_scatter(TensorView input, MutableTensorView output,
                                    const CallOptions& options) {
  return start(member_, {Collective::reduce, input, output, 0, options, true});
}

Handle Communicator::barrier(const CallOptions& options) {
  return start(member_, {Collective::barrier, {}, {}, 0, options});
}

std::optional<Error> Communicator::failure() const {
  return member_ ? member_->failure() : std::nullopt;
}

int Communicator::rank() const { return member_ ? member_->rank() : -1; }
int Communicator::world() const { return member_ ? member_->world() : 0; }
std::string Communicator::interface() const { return member_ ? member_->interface() : ""; }
Statistics Communicator::statistics() const {
  return member_ ? member_->statistics() : Statistics{};
}

}  // namespace infold
