// SPDX-License-Identifier: Apache-2.0
#include "join/client/answer_reader.h"

#include <utility>

#include <fmt/format.h>

#include "join/refusals.h"

namespace infold::join {
namespace {

const char* name_of(const v1::JoinReply& reply) {
  switch (reply.step_case()) {
    case v1::JoinReply::kJoined: return "Joined";
    case v1::JoinReply::kGo: return "Go";
    case v1::JoinReply::kRefused: return "Refused";
    case v1::JoinReply::kEnded: return "Ended";
    case v1::JoinReply::STEP_NOT_SET: break;
  }
  return "a message that this version does not know";
}

}  // namespace

void AnswerReader::note_ready(bool shares_memory) {
  shares_memory_ = shares_memory;
  if (state_ == State::told) state_ = State::ready;
}

std::optional<Heard> AnswerReader::read(const v1::JoinReply& reply) {
  if (state_ == State::over) return std::nullopt;
  if (state_ == State::running) {
    state_ = State::over;
    return reply.has_ended() ? heard_end(reply.ended(), own_.world) : JobEnd{};
  }
  if (reply.has_refused()) {
    state_ = State::over;
    return heard_refusal(reply.refused(), own_.world);
  }
  if (reply.has_ended()) {
    state_ = State::over;
    return ended_early(heard_end(reply.ended(), own_.world));
  }
  if (state_ == State::asked && reply.has_joined()) return read_terms(reply);
  if (state_ == State::ready && reply.has_go()) return read_go(reply);
  const Refusal refusal = out_of_turn(reply);
  state_ = State::over;
  return refusal;
}

Heard AnswerReader::read_terms(const v1::JoinReply& reply) {
  Answer<JobTerms> terms = terms_of(reply.joined(), own_, host_);
  state_ = terms ? State::told : State::over;
  if (!terms) return std::move(terms.error());
  terms_ = *terms;
  return std::move(*terms);
}

Heard AnswerReader::read_go(const v1::JoinReply& reply) {
  auto groups = groups_of(reply.go(), terms_, own_.rank, shares_memory_, host_);
  state_ = groups ? State::running : State::over;
  if (!groups) return std::move(groups.error());
  return Go{std::move(*groups)};
}

std::optional<Heard> AnswerReader::end(const std::string& why) {
  const State before = std::exchange(state_, State::over);
  if (before == State::over) return std::nullopt;
  if (before == State::running) return JobEnd{};
  return refusal(sentences::kConnectionBroke, host_,
                 why.empty() ? clause(sentences::kWasClosed) : why);
}

Refusal AnswerReader::out_of_turn(const v1::JoinReply& reply) const {
  const char* const name = name_of(reply);
  if (state_ == State::told) return refusal(sentences::kAnswerBeforeReady, host_, name);
  return refusal(sentences::kAnswerOutOfTurn, host_, name,
                 state_ == State::asked ? "Joined" : "Go");
}

Refusal AnswerReader::ended_early(const JobEnd& end) const {
  std::string lost = host_;
  if (end.lost_rank) lost = fmt::format("rank {}", *end.lost_rank);
  if (!end.lost_switch.empty()) lost = "the switch at " + end.lost_switch;
  const Refusal why = refusal(sentences::kLostWhileJoining, lost);
  return end.lost_rank ? pointing_at(*end.lost_rank, why) : why;
}

}  // namespace infold::join
