// SPDX-License-Identifier: Apache-2.0
//
// The table of all refusals: for each, the reason that programs read (J-042), and the sentence for
// people. A sentence names the fault, its numbers and the remedy, and never shows a token. The
// compiler checks that each use has the numbers and texts of its sentence. What a join server says
// comes first. Then come what a rank finds out itself, switches, P4 pipelines and emulators.
//
//   return refused(kNoElement, bytes);
#pragma once

#include <cstdint>
#include <string>
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

// A part that a sentence has only in some cases.
template <typename... Args>
struct Clause {
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

template <typename... Args>
std::string clause(const Clause<Args...>& part, std::type_identity_t<Args>... args) {
  return fmt::format(part.text, std::forward<Args>(args)...);
}

namespace sentences {
using enum RefusalReason;

using Text = std::string_view;
using Number = std::uint64_t;
using Seconds = double;

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

// These say what is wrong with a message itself.
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
inline constexpr Sentence<Text, Number, Number, Text> kTooFewCame = {
    too_late, "job '{}': {} of {} ranks came{}"};
inline constexpr Clause<Text> kMissingRanks = {"; missing: rank {}"};
inline constexpr Clause<Text> kRanksThatWent = {"; rank {} came, but waits no longer"};
inline constexpr Clause<Text> kTurnedAway = {"; a rank was turned away: {}"};
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
inline constexpr Sentence<Text, Text> kNoRouteToParent = {
    too_late, "no route leads from the switch at {} to its parent {}"};
inline constexpr Sentence<Text, Text> kCannotProbe = {too_late, "the switch at {}: {}"};
inline constexpr Sentence<Text, Text> kSiteOfParent = {too_late, "the parent's site {} {}"};
inline constexpr Sentence<Text, Text> kNoUdpFromSite = {
    too_late,
    "nothing comes back over UDP from {} to the rack's switch at {}, though it could join there; "
    "does a firewall between them drop UDP?"};
inline constexpr Sentence<Number, Text, Text> kNarrowPath = {
    too_late,
    "packets of {} bytes do not come back from {} to the rack's switch at {}, smaller ones do: the "
    "path carries less than its ends say; choose a smaller MTU"};

// What a rank finds out itself about the host where it joins.
inline constexpr Sentence<Text, Text> kNotFound = {too_late, "{} {}"};
inline constexpr Sentence<Text, Text> kNotReached = {full, "{}: {}"};
inline constexpr Sentence<Text, Seconds, Text> kNoAnswer = {
    too_late, "no answer from {} for {:.1f} s: {}, and does a firewall let TCP through?"};
inline constexpr Sentence<Text, Seconds> kNoGo = {
    too_late, "{} has not said for {:.1f} s that all ranks can start"};
inline constexpr Sentence<Text> kGivenUp = {given_up, "joining at {} was given up"};
inline constexpr Sentence<Text, Text> kConnectionBroke = {
    stopping, "the connection to {} broke while joining ({})"};
inline constexpr Clause<> kWasClosed = {"it was closed"};
inline constexpr Clause<Number> kIsSilent = {"it has answered nothing for {} s"};
inline constexpr Clause<Number, Number> kLongAnswer = {
    "it announced a message of {} bytes, but {} are allowed"};
inline constexpr Clause<> kNotAReply = {"it sent bytes that are not a JoinReply"};
inline constexpr Sentence<Text, Text, Text> kAnswerOutOfTurn = {
    broken, "{} answered {} where {} comes next"};
inline constexpr Sentence<Text, Text> kAnswerBeforeReady = {
    broken, "{} answered {} where Go comes next, before this rank was ready"};
inline constexpr Sentence<Text, Text, Text> kAnswerMisfits = {broken, "{} answered {}.{}"};
inline constexpr Sentence<Text, Text, Text> kOtherCertificate = {
    invalid,
    "{} has the certificate {}, and this rank was told to expect {}: if the switch got a new "
    "identity, take the new string that it printed at its start; if not, somebody else answers at "
    "this address"};
inline constexpr Sentence<Text> kSwitchWithoutKeys = {
    invalid,
    "the switch at {} does not use keys; it was started with --insecure, or is of an earlier "
    "version: start it with keys, or join at its host:port alone"};
inline constexpr Sentence<Text, Text> kNoCommonTls = {invalid, "{} cannot be joined with keys: {}"};
// Other ranks hear this refusal, with the reason that stands for the rank's error.
inline constexpr Sentence<int, Text> kRankFails = {stopping, "rank {}: {}"};

// Switches, when a job starts.
inline constexpr Sentence<Number> kNumberInUse = {in_use,
                                                  "the number {} is another job's at the switch"};
inline constexpr Sentence<> kNoMemory = {
    full,
    "the switch has no memory for the job's slots; start it with fewer (infold switch --slots)"};
inline constexpr Sentence<Text> kProgramCannotAdd = {
    full, "the switch {}; wait for the end of another job"};

// P4 pipelines.
inline constexpr Sentence<Text> kNotForAdders = {invalid, "{}"};
inline constexpr Sentence<Number> kFewRanksForPipeline = {
    invalid, "the P4 pipeline sums for {} ranks and more"};
inline constexpr Sentence<Number, Number> kSlotsOfPipeline = {
    invalid, "the job wants {} slots; the P4 pipeline has {} for each job"};
inline constexpr Sentence<Number> kRankWithoutAddress = {
    invalid, "rank {} has no address; the P4 pipeline sums packets of IPv4 addresses alone"};
inline constexpr Sentence<Number, Text> kRankWithIpv6 = {
    invalid, "rank {} has the address {}; the P4 pipeline sums packets of IPv4 addresses alone"};
inline constexpr Sentence<Number> kRankAtController = {
    invalid,
    "rank {} is on the host of the P4 pipeline's controller; its packets do not pass the device; "
    "run the rank on another host"};
inline constexpr Sentence<Number, Number, Number> kRankBehindOtherPipe = {
    invalid,
    "rank {} is behind port {} of the P4 device; only ports 0 to {} reach the pipe that sums; "
    "connect the rank to one of these"};
inline constexpr Sentence<Number> kPipelineHasJob = {in_use,
                                                     "the P4 pipeline has a job {} already"};
inline constexpr Sentence<Number> kJobsOfPipeline = {
    full, "the P4 pipeline has {} jobs, as many as it can; wait for the end of one"};
inline constexpr Sentence<Text> kDeviceFails = {full, "{}"};

// Emulators.
inline constexpr Sentence<> kEmulatorStops = {stopping, "the emulator is stopping"};
inline constexpr Sentence<Text, Number, Number, Number> kRanksOfEmulator = {
    invalid, "job '{}': the emulator has {} ranks, and the job has {}; start it with --ranks {}"};
inline constexpr Sentence<Text, Number, Text, Number> kRankIsEmulated = {
    invalid, "job '{}': rank {} is emulated; real are {} (--real {})"};
inline constexpr Sentence<Text, Number> kRealRankSums = {
    invalid,
    "job '{}': rank {} sums a share, and emulated ranks do not; join with INFOLD_SITES=switches, "
    "or start the emulator with --place mixed"};
inline constexpr Sentence<Text, Number> kEmulatedRanksSum = {
    invalid,
    "job '{}': rank {} sums no share, and emulated ranks do; join with INFOLD_SITES=mixed, or "
    "start the emulator with --place switches"};
inline constexpr Sentence<Text> kRackBelowEmulator = {
    invalid, "job '{}': a rack's switch cannot be below an emulator"};
inline constexpr Sentence<> kNothingToVerify = {
    invalid, "emulated ranks have no results to compare; switch off verify (INFOLD_VERIFY)"};
inline constexpr Sentence<Text, Text> kOtherPlan = {invalid,
                                                    "the job of these ranks has {} (--plan); {}"};
inline constexpr Sentence<> kNoMemoryToEmulate = {
    full, "the emulator has no memory for the job; start it with fewer ranks or slots"};
inline constexpr Sentence<> kNoMemoryForRanks = {
    full, "the emulator has no memory for the job; start it with fewer ranks"};
inline constexpr Sentence<Text> kRank0AtSwitch = {
    invalid,
    "job '{}': rank 0 has joined at the switch itself; it must join at the emulator, which hears "
    "its calls"};
inline constexpr Sentence<Text> kNoPlan = {broken,
                                           "the switch has sent terms that make no plan: {}"};
inline constexpr Sentence<> kSomeRanksSum = {
    broken,
    "some ranks of the job sum a share, and others do not; let all join with one INFOLD_SITES"};
inline constexpr Sentence<Number, Text, Text> kRankInRack = {
    broken,
    "the switch puts rank {}, which {}, into a rack or a host; it must be directly below the {}"};
inline constexpr Sentence<Text> kSiteOfSwitch = {
    broken, "the switch has a site at {}, which is not an address"};
inline constexpr Sentence<> kOtherEmulatedSites = {
    broken, "the switch has sent other sites of emulated ranks than these have"};
inline constexpr Sentence<> kOneNumberTwice = {broken,
                                               "the switch has given one number to two jobs"};

}  // namespace sentences

}  // namespace infold::join
