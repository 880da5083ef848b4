// SPDX-License-Identifier: Apache-2.0
//
// Reads a host's answers to a rank in their order: terms, go, an end. If an answer does not fit the
// hello or comes out of order, it counts as a refusal before the job runs, and as the end of the
// host after that.
//
//   asked --Joined--> told --note_ready()--> ready --Go--> running --Ended--> over
//      \________________ a refusal, an end, or an answer out of turn ________/
//
// Pure. Used by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "join/client/job_answers.h"
#include "join/registrar.h"

namespace infold::join {

struct Go {
  std::vector<HostGroup> groups;
};
using Heard = std::variant<JobTerms, Go, Refusal, JobEnd>;

class AnswerReader {
 public:
  // `host` names the host in errors, as in "the switch's parent 10.0.0.1:7700".
  AnswerReader(Hello own, std::string host) : own_(std::move(own)), host_(std::move(host)) {}

  // Notes that the rank has said that it is ready.
  void note_ready(bool shares_memory);
  // Returns nothing once the job is over.
  std::optional<Heard> read(const v1::JoinReply& reply);
  // Notes that no further answer comes. `why` says what broke the connection; empty: the host
  // closed it.
  std::optional<Heard> end(const std::string& why);

  bool is_running() const { return state_ == State::running; }
  bool is_over() const { return state_ == State::over; }

 private:
  enum class State : std::uint8_t { asked, told, ready, running, over };

  Heard read_terms(const v1::JoinReply& reply);
  Heard read_go(const v1::JoinReply& reply);
  Refusal out_of_turn(const v1::JoinReply& reply) const;
  Refusal ended_early(const JobEnd& end) const;

  Hello own_;
  std::string host_;
  State state_ = State::asked;
  bool shares_memory_ = false;
  JobTerms terms_;  // set once the host has told them
};

}  // namespace infold::join
