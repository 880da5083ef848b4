// SPDX-License-Identifier: Apache-2.0
//
// The table of all refusals: for each, the reason that programs read (J-042), and the sentence for
// people. A sentence names the fault, its numbers and the remedy, and never shows a token. The
// compiler checks that each use has the numbers and texts of its sentence.
//
//   return refused(kNoElement, bytes);
#pragma once

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <tl/expected.hpp>

#include "join/registrar.h"

namespace infold::join {

template <typename... Args>
struct Sentence {
  RefusalReason reason;
  fmt::format_string<Args...> text;
};

template <typename... Args>
Refusal refusal(const Sentence<Args...>& sentence, std::type_identity_t<Args>... args) {
  return {sentence.reason, fmt::format(sentence.text, std::forward<Args>(args)...), -1};
}
// The same for a function that returns an Answer.
template <typename... Args>
tl::unexpected<Refusal> refused(const Sentence<Args...>& sentence,
                                std::type_identity_t<Args>... args) {
  return tl::unexpected<Refusal>(refusal(sentence, std::forward<Args>(args)...));
}
// The same refusal, which points people at a rank.
inline Refusal pointing_at(std::uint64_t rank, Refusal refusal) {
  refusal.rank = static_cast<int>(rank);
  return refusal;
}

using Text = std::string_view;
using Number = std::uint64_t;

namespace sentences {
using enum RefusalReason;

// Tokens, at a switch with keys.
inline constexpr Sentence<> kNoToken = {
    not_permitted,
    "the switch uses keys, and this rank has no token: join with the whole string that the switch "
    "prints when it starts, or that 'infold token new' makes"};
inline constexpr Sentence<> kMalformedToken = {
    not_permitted, "the token is malformed: copy the whole string to join with"};
inline constexpr Sentence<> kForeignToken = {
    not_permitted,
    "the token was not made with a secret of this switch: it is another switch's, or the secret "
    "has been renewed twice since ('infold token new' makes another one)"};
inline constexpr Sentence<> kRevokedToken = {not_permitted, "the token was revoked"};
inline constexpr Sentence<> kExpiredToken = {
    not_permitted, "the token has expired ('infold token new' makes another one)"};
inline constexpr Sentence<> kTokenOfAnotherJob = {
    not_permitted, "the token is for a job of another name, which 'infold token list' shows"};
inline constexpr Sentence<> kTokenNotForRacks = {
    not_permitted,
    "the token does not let a rack's switch speak for ranks: give the switch one that 'infold "
    "token new --rack' makes"};
inline constexpr Sentence<Number, Number> kTokenForFewerRanks = {
    not_permitted, "the token is for {} ranks, and the job has {}"};
inline constexpr Sentence<Number, Number, Number> kRanksOfTokenUsed = {
    full, "the token is for {} ranks, jobs with it have {}, and this one has {}"};
inline constexpr Sentence<Number, Text> kSlotsOfTokenUsed = {
    full, "the token is for {} slots, and other jobs with it leave none for job '{}'"};

// Connections, and what comes before a Hello.
inline constexpr Sentence<> kUsesKeys = {
    invalid,
    "this switch uses keys, and the rank joins without one: join with the string that the switch "
    "printed at its start, host:port#fingerprint.token"};
inline constexpr Sentence<> kUsesNoKeys = {
    invalid,
    "the rank joins with keys, and this switch uses none, because it was started with --insecure"};
inline constexpr Sentence<> kOldRank = {
    invalid,
    "this rank joins over gRPC, as earlier versions of infold did; install the version of infold "
    "that the switch has"};
inline constexpr Sentence<Number, Number> kLongMessage = {
    invalid, "a message of {} bytes was announced, but {} are allowed"};
inline constexpr Sentence<> kKeepalivesBeforeHello = {invalid,
                                                      "too many keepalives before the Hello"};
inline constexpr Sentence<> kFirstIsNoHello = {invalid, "the first message is not a Hello"};
inline constexpr Sentence<> kOutOfTurn = {invalid,
                                          "the message does not follow the order of joining"};
inline constexpr Sentence<> kLateHello = {too_late, "the connection has not said Hello in time"};
inline constexpr Sentence<Number, Text> kOpenings = {
    full, "more than {} connections a second are opened from {}"};
inline constexpr Sentence<Number> kConnections = {
    full, "{} ranks have joined here or want to, which is the limit"};
inline constexpr Sentence<Number, Text> kConnectionsOfAddress = {
    full, "{} ranks at {} have joined here or want to, which is the limit for one address"};
inline constexpr Sentence<Number> kHandshakes = {full,
                                                 "more than {} TLS handshakes a second are begun"};
inline constexpr Sentence<Number, Text> kHandshakesOfAddress = {
    full, "more than {} TLS handshakes a second are begun from {}"};
inline constexpr Sentence<Number, Text> kHellos = {
    full, "more than {} ranks a second want to join from {}"};
inline constexpr Sentence<> kReplies = {full,
                                        "too many replies wait for ranks that do not take them"};

// What is wrong with a message itself.
inline constexpr Sentence<Number> kOtherVersion = {
    invalid, "the switch speaks another version of the protocol: {}"};
inline constexpr Sentence<Number> kJobName = {
    invalid, "the job's name must have 1 to {} characters, none of them a control character"};
inline constexpr Sentence<Number> kHostNames = {
    invalid, "the host's names must have at most {} characters, none of them a control character"};
inline constexpr Sentence<Number, Number, Number> kRankOutOfRange = {
    invalid, "rank {} of {} is out of range: ranks are 0 to world - 1, worlds 1 to {}"};
inline constexpr Sentence<Number, Number> kShortDatagrams = {
    invalid, "datagrams of {} bytes hold no chunk; allowed: {} or more"};
inline constexpr Sentence<Number, Number> kLongDatagrams = {
    invalid, "datagrams of {} bytes are longer than UDP allows; allowed: {} or less"};
inline constexpr Sentence<> kAsksForNoSlots = {invalid, "a job without slots cannot sum"};
inline constexpr Sentence<Number, Number, Number> kAsksForManySlots = {
    invalid, "{} and {} slots are too many; allowed: {} together"};
inline constexpr Sentence<Number> kNoElement = {invalid, "no element has {} bytes"};
inline constexpr Sentence<Number, Number, Number> kSiteWeight = {
    invalid, "rank {}'s site has weight {}; allowed: 0 to {}"};
inline constexpr Sentence<Number, Text> kSiteAddress = {
    invalid, "rank {}'s site is at '{}', which is no host's address with a port"};
inline constexpr Sentence<Number, Text> kSiteRecord = {invalid, "rank {}'s site has {}"};
inline constexpr Sentence<Text> kSource = {
    invalid, "packets cannot come from '{}', which is no host's address"};
inline constexpr Sentence<> kRackNames = {
    invalid, "the rack's switch has an empty or malformed identity, or a malformed address"};
inline constexpr Sentence<Text, Number, Number> kRackSites = {
    invalid, "the rack's switch at {} says that it has {} sites; allowed: 1 to {}"};
inline constexpr Sentence<Text, Text> kRackRecord = {invalid, "the rack's switch at {} has {}"};
inline constexpr Sentence<> kMalformedAbort = {invalid,
                                               "the abort that a rank left with is malformed"};
inline constexpr Sentence<> kMalformedTransfer = {invalid,
                                                  "a transfer has a field that stands for nothing"};

// Room at the switch.
inline constexpr Sentence<Number> kJobs = {full, "the switch has {} jobs, which is its limit"};
inline constexpr Sentence<Number, Number, Number> kRanks = {
    full, "the jobs at the switch have {} ranks, and {} more would exceed its limit, {}"};
inline constexpr Sentence<Number, Text> kJobsOfAddress = {
    full, "{} jobs come from {}, which is the limit for one address"};
inline constexpr Sentence<Number, Text, Number, Number> kRanksOfAddress = {
    full, "jobs of {} ranks come from {}, and {} more would exceed the limit for one address, {}"};
inline constexpr Sentence<Number, Text> kStartedJobsOfAddress = {
    full,
    "{} jobs at the switch have rank 0 at {}, the limit for one address; wait for the end of "
    "another job"};
inline constexpr Sentence<Text, Number, Number, Text, Number> kSlots = {
    full,
    "{} has {} of {} slots left and job '{}' wants {}; start it with more (infold switch --slots)"};
inline constexpr Sentence<> kJobNumbers = {full, "the switch has used all numbers of jobs"};
inline constexpr Sentence<Text> kCannotStart = {full, "the switch cannot start the job: {}"};

// Ranks and sites that do not fit together.
inline constexpr Sentence<Text> kJobRuns = {
    in_use, "a job named '{}' is running; choose another name or wait for its end"};
inline constexpr Sentence<Text, Number> kRankIsHere = {
    in_use, "job '{}' has a rank {} already; is another job of this name starting?"};
inline constexpr Sentence<Text, Number, Number, Number, Number> kOtherWorld = {
    mismatch, "job '{}': rank {} says there are {} ranks, rank {} says {}"};
inline constexpr Sentence<Text, Number, Number> kOtherSites = {
    mismatch,
    "job '{}': rank {} has other sites than rank {}, or other weights or another order of them; "
    "all ranks must name the same switches in the same order and choose the same sites and "
    "weights"};
inline constexpr Sentence<Text, Number, Text, Number, Text> kOtherVerify = {
    mismatch,
    "job '{}': rank {} {} results, rank {} {}; set JoinOptions.verify or INFOLD_VERIFY=1 at all "
    "ranks, or at none"};
inline constexpr Sentence<Text, Number, Number, Number, Number> kOtherHistory = {
    mismatch,
    "job '{}' cannot go on after it lost a switch: rank {} has finished other calls ({} and some) "
    "than rank {} ({} and some)"};
inline constexpr Sentence<Text, Number, Number, Text, Number> kRackWithGap = {
    invalid,
    "job '{}': ranks {} and {} join at {}, rank {} between them does not; number the ranks rack by "
    "rack"};
inline constexpr Sentence<Text, Text, Text> kSiteLacks = {invalid, "job '{}': {} {}"};
inline constexpr Sentence<> kParentIsARank = {
    invalid, "--parent names a rank that sums; the parent of a rack's switch must be a switch"};
inline constexpr Sentence<> kNoSites = {
    invalid, "the job has no site: this is not a switch, and no rank sums a share"};
inline constexpr Sentence<Text, Number, Number> kManySites = {
    invalid,
    "job '{}' has {} sites, and a job has at most {}; a rank that sums is a site, so let a switch "
    "sum for more ranks (infold switch)"};
inline constexpr Sentence<Text, Number, Number> kNoBlockFits = {
    invalid,
    "job '{}': datagrams of {} bytes with {} elements, the least of all ranks and switches, hold "
    "no block of some formats"};
inline constexpr Sentence<Text> kNoCommonSlots = {
    invalid,
    "job '{}': some ranks have no slots for small tensors and the others none for large ones; a "
    "job without slots cannot sum"};

// Time, and ends.
inline constexpr Sentence<Text, Number, Text> kNotReady = {
    too_late, "job '{}': not all ranks were ready before rank {}'s deadline; missing: rank {}"};
inline constexpr Sentence<Text, Number> kNotStarted = {
    too_late, "job '{}': the switch did not start it before rank {}'s deadline"};
inline constexpr Sentence<Text, Number, Text> kRankGone = {too_late,
                                                           "job '{}': rank {} {} joining"};
inline constexpr Sentence<Text> kLostWhileJoining = {too_late, "{} was lost while joining"};
inline constexpr Sentence<> kStopping = {stopping, "the switch is stopping"};
inline constexpr Sentence<> kRendezvousIsOver = {
    stopping, "rank 0, where the job's ranks meet, waits no longer"};

// Racks.
inline constexpr Sentence<Text> kParentIsItself = {
    invalid, "--parent of the switch at {} leads back to that switch"};
inline constexpr Sentence<Text, Text> kParentHasParent = {
    invalid, "the switch at {} has a parent itself, {}; a rack's parent must have none"};
inline constexpr Sentence<Text, Text> kLongerPackets = {
    invalid, "the parent at {} asks for longer packets than the switch at {} takes"};
inline constexpr Sentence<Text, Text, Text> kOtherFormats = {
    invalid, "the parent at {} asks for {}, which the switch at {} does not sum"};
inline constexpr Sentence<Text> kNoRacks = {
    invalid,
    "the host at {} does not know racks: a parent must be an `infold switch` of this version"};
inline constexpr Sentence<Text, Number> kNumberGivenTwice = {
    in_use, "the parent at {} has given number {} to two jobs"};

}  // namespace sentences

}  // namespace infold::join
