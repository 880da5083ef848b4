// SPDX-License-Identifier: Apache-2.0
#include "plan/messages.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "core/packet/exact_body.h"
#include "core/packet/packet.h"
#include "core/stripe.h"

namespace infold::plan {
namespace {

using core::Kind;

class Builder {
 public:
  Builder(const Plan& plan, const Call& call)
      : plan_(plan), call_(call), stripe_(weights_of(plan)) {
    call_.layout = core::layout_on_wire(plan.formats, call.layout);
    per_chunk_ = core::chunk_elements(call_.layout, limits_of(plan));
    CHECK_THAT(per_chunk_, >, 0);
  }

  std::vector<Message> build() {
    const std::uint64_t chunks =
        std::max<std::uint64_t>(1, (call_.elements + per_chunk_ - 1) / per_chunk_);
    const bool is_small = core::is_small(worker_options(plan_, 0), call_.priority, chunks);
    // The small stream announces a bulk tensor.
    if (!is_small && plan_.small_slots > 0) add_chunk(true, 0, 0);
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::uint64_t left = call_.elements - chunk * per_chunk_;
      add_chunk(is_small, chunk,
                static_cast<std::uint32_t>(std::min<std::uint64_t>(left, per_chunk_)));
    }
    return std::move(messages_);
  }

 private:
  // A child's contribution: the index of its message in the list, and whether it has data.
  struct Sent {
    std::uint32_t message = 0;
    bool has_data = false;
  };

  static std::vector<std::uint16_t> weights_of(const Plan& plan) {
    std::vector<std::uint16_t> weights;
    for (const Tree& tree : plan.trees) weights.push_back(tree.weight);
    return weights;
  }

  bool contributes(std::uint16_t rank) const {
    if (call_.collective == core::Collective::barrier) return false;
    return call_.collective != core::Collective::broadcast || rank == call_.root;
  }

  // The root already has what it sent, so it needs no more than a brief result.
  bool gets_brief_result(const Child& child) const {
    return plan_.brief_results && call_.collective == core::Collective::broadcast &&
           !call_.layout.has_partial_sums() && child.is_rank() && child.ranks.first == call_.root;
  }

  std::uint32_t bytes_of(Kind kind, std::uint32_t elements) const {
    if (kind != Kind::partial || !call_.layout.is_native()) {
      return static_cast<std::uint32_t>(core::datagram_bytes(kind, call_.layout, elements, false));
    }
    // The values decide how many elements need a second double; in f32, f16 and bf16 they seldom
    // do.
    const std::uint32_t lows = call_.layout.dtype == DataType::f64 ? elements : 0;
    return INFOLD_HEADER_BYTES + core::exact_body_bytes(call_.layout.dtype, elements, lows);
  }

  std::uint32_t add(Message message, Kind kind, bool has_data) {
    message.bytes = bytes_of(has_data ? kind : Kind::skip, message.elements);
    messages_.push_back(std::move(message));
    return static_cast<std::uint32_t>(messages_.size() - 1);
  }

  void add_chunk(bool is_small, std::uint64_t chunk, std::uint32_t elements) {
    const core::Stripe::Place place = stripe_.place_of(chunk);
    chunk_ = {};
    chunk_.tree = static_cast<std::uint8_t>(place.site);
    chunk_.is_small = is_small;
    chunk_.chunk = chunk;
    chunk_.elements = elements;
    const std::uint32_t slots = is_small ? plan_.small_slots : plan_.bulk_slots;
    // This chunk must wait for the results of the chunk that had the slot before.
    auto& turns = results_[is_small ? 1 : 0];
    turns.resize(plan_.trees.size());
    auto& before = turns[place.site];
    freed_ = place.before >= slots ? &before[place.before - slots] : nullptr;
    std::vector<std::uint32_t> of_ranks(plan_.world);
    const Sums sums = add_up(0);
    add_down(0, sums.messages, sums.has_data, of_ranks);
    before.push_back(std::move(of_ranks));
  }

  struct Sums {
    std::vector<std::uint32_t> messages;  // the contributions that the aggregator waits for
    bool has_data = false;
  };

  // Lists all contributions to an aggregator and to the aggregators below it.
  Sums add_up(std::uint16_t aggregator) {
    Sums sums;
    const std::vector<Child>& children = tree().aggregators[aggregator].children;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const Sent sent = add_contribution(aggregator, static_cast<std::uint8_t>(i), children[i]);
      sums.messages.push_back(sent.message);
      sums.has_data = sums.has_data || sent.has_data;
    }
    return sums;
  }

  Sent add_contribution(std::uint16_t aggregator, std::uint8_t number, const Child& child) {
    Message message = chunk_;
    bool has_data = chunk_.elements > 0;
    Kind kind = Kind::add;
    if (child.is_rank()) {
      has_data = has_data && contributes(child.ranks.first);
      if (freed_ != nullptr) message.after = {(*freed_)[child.ranks.first]};
    } else {
      Sums sums = add_up(child.aggregator);
      has_data = sums.has_data;
      message.after = std::move(sums.messages);
      if (call_.layout.has_partial_sums()) kind = Kind::partial;
    }
    message.aggregator = aggregator;
    message.child = number;
    return {add(std::move(message), kind, has_data), has_data};
  }

  void add_down(std::uint16_t aggregator, const std::vector<std::uint32_t>& after, bool has_data,
                std::vector<std::uint32_t>& of_ranks) {
    const std::vector<Child>& children = tree().aggregators[aggregator].children;
    std::vector<std::uint32_t> sent;
    for (std::size_t i = 0; i < children.size(); ++i) {
      Message message = chunk_;
      message.aggregator = aggregator;
      message.child = static_cast<std::uint8_t>(i);
      message.is_down = true;
      message.after = after;
      const bool is_brief = has_data && gets_brief_result(children[i]);
      sent.push_back(add(std::move(message), Kind::result, has_data && !is_brief));
    }
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].is_rank()) {
        of_ranks[children[i].ranks.first] = sent[i];
      } else {
        add_down(children[i].aggregator, {sent[i]}, has_data, of_ranks);
      }
    }
  }

  const Tree& tree() const { return plan_.trees[chunk_.tree]; }

  const Plan& plan_;
  Call call_;
  core::Stripe stripe_;
  std::uint32_t per_chunk_ = 0;
  std::vector<Message> messages_;
  Message chunk_;  // every message of the current chunk starts as a copy of this
  const std::vector<std::uint32_t>* freed_ = nullptr;
  // results_[stream][tree][chunk][rank] is the index of the message that brings the rank its
  // result.
  std::vector<std::vector<std::vector<std::uint32_t>>> results_[2];
};

}  // namespace

std::vector<Message> messages_of(const Plan& plan, const Call& call) {
  return Builder(plan, call).build();
}

}  // namespace infold::plan
