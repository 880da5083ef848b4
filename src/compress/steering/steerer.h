// SPDX-License-Identifier: Apache-2.0
//
// Decides how the calls of one list of parameters travel: compressed with some value of a setting,
// or plain. The values that the steerer may choose are called rungs, and rung 0 sends the fewest
// bytes. The steerer chooses the rung, or plain, that makes the most progress per second of a
// training step. If the progress of a finer one, which sends more bytes, is within a tolerance of
// that, it chooses the finer one. Time that the caller's own work hides counts as free, so of all
// rungs that are completely hidden, the finest one wins.
//
// The progress of a step is the square root of the share of the tensors' energy that the codes keep
// (docs/design/code/038-steering.md). If a rung was not measured, its share is predicted from the
// nearest rung that was.
//
//   setting() -> the call is made -> learn(times of the call before, as all ranks have agreed)
//
// The steerer has no clock and draws no random numbers, so the same agreed times give the same
// settings at all ranks.
//
// For its predictions, the steerer models a call's time as a latency plus bytes divided by a rate.
// Calls at the present rung tell the rate, and a second rung tells the latency. From time to time
// the steerer makes a "look": two calls at another rung, or plain, only to measure them. Apart from
// the first calls, looks add at most 1/32 to the time of the steps. If a move reverses the previous
// move, the wait until the next move doubles, so that noise causes few moves.
//
//   call 0    the first rung, not measured because buffers still grow
//   1, 2      the first rung
//   3, 4      another rung, for the latency
//   5, 6      plain, if that is allowed
//   then      decisions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "compress/steering/call_times.h"
#include "compress/steering/smoothed.h"

namespace infold::compress {

class Steerer {
 public:
  struct Options {
    // The bytes of each rung, in any unit and never falling. There must be at least one rung.
    std::vector<double> sizes;
    double plain_size = 1;  // the bytes of a plain call in the same unit
    std::size_t start = 0;  // the first rung
    bool may_skip = false;
    double tolerance = 0.05;
  };
  struct Setting {
    std::size_t rung = 0;  // the rung of compressed calls
    bool is_plain = false;

    friend bool operator==(const Setting&, const Setting&) = default;
  };

  // A move goes to a rung with at most this many times the present rung's bytes, because a
  // prediction from few bytes is unreliable.
  static constexpr double kRiseMax = 4;
  // Calls between looks. The number doubles as long as nothing changes.
  static constexpr int kLookEveryMin = 32;
  static constexpr int kLookEveryMax = 4096;
  // A look may cost this share of the steps' time until the next look. If a step at some rung, or
  // with plain calls, would take more than 65 times as long, the steerer therefore does not look
  // there until the network changes.
  static constexpr double kLookShare = 1.0 / 32;
  // The calls of a look. There are two, so that a single slow call does not decide.
  static constexpr int kLookCalls = 2;
  // Two rungs whose sizes differ by less than this factor cannot tell the latency.
  static constexpr double kApart = 1.4;
  // The least and the most calls between two moves. The times of a call are known two calls later,
  // and the times of two calls are needed.
  static constexpr int kPatienceMin = 2;
  static constexpr int kPatienceMax = 64;
  // The steerer measures a rung's kept share in each of the rung's first calls, and later in one of
  // this many.
  static constexpr int kKeptEvery = 8;

  explicit Steerer(Options options);

  // The setting of the next call.
  Setting setting() const { return of(now_); }
  // Whether the call with setting() should measure what it keeps.
  bool wants_kept() const;
  // The share that the rung in force kept when it was last measured. Absent: not measured.
  std::optional<double> kept() const;
  // Call it when the call with setting() has succeeded. Unknown times are ignored.
  void learn(const std::optional<CallTimes>& times);

  // Returns everything that the steerer remembers, as numbers that a float holds exactly.
  std::vector<float> state() const;
  // Returns false and changes nothing if this cannot be the state of a steerer with these rungs.
  bool load(std::span<const float> state);

 private:
  // A place is a rung, or plain. Places are numbered from the fewest bytes on, so plain is the last
  // one.
  int rungs() const { return static_cast<int>(options_.sizes.size()); }
  int plain() const { return rungs(); }
  Setting of(int place) const;
  double size_of(int rung) const { return options_.sizes[static_cast<std::size_t>(rung)]; }

  void observe(int place, const CallTimes& times);
  void observe_rung(int rung, double seconds);
  void observe_kept(int rung, double share);
  void fit();
  void note_jump();

  int decide();
  int first_looks();
  void move(int place);
  void look_at(int place, int calls);
  bool look();
  std::optional<int> other_rung() const;

  double network_time(int rung) const;
  double plain_time() const;
  double cost(int place) const;
  double step_time(int place) const { return rest_.level() + cost(place); }
  double share_along(int measured, int rung) const;
  double kept_share(int place) const;
  double worth(int place) const;
  bool is_open(int place) const;
  int choose() const;

  bool is_sound() const;
  template <typename Visitor>
  void visit(const Visitor& visitor);

  Options options_;

  // The place in force, and the places of the last call, of the next call and of the current look.
  int home_;
  int former_;
  int now_;
  int look_ = 0;
  int look_left_ = 0;  // calls that the look still has to make
  int stage_ = 0;      // progress of the first looks
  int learned_ = 0;    // calls of learn() so far, at most 2; their times are ignored
  int hold_ = 2;       // calls until the next decision
  int patience_ = kPatienceMin;
  int direction_ = 0;  // the direction of the last move; 0: none, 1: to more bytes, 2: to fewer
  int look_every_ = kLookEveryMin;
  int since_look_ = 0;
  int looks_ = 0;  // lets the two kinds of looks alternate

  // All times are in seconds. here_, there_, plain_, latency_ and guess_ are times of the network
  // alone.
  int here_rung_;  // the last rung in force
  Smoothed here_;
  int there_rung_ = -1;  // another rung, for the latency; -1: none
  Smoothed there_;
  float latency_ = 0;
  float guess_ = 0;  // the predicted time of the rung in force, at the last move
  Smoothed plain_;
  // The level of here_ when plain_ was last measured, and the level of plain_ when here_ was last
  // measured. Compared with the present levels, they show how the network has changed.
  float here_at_plain_ = 0;
  float plain_at_here_ = 0;
  Smoothed codec_;
  Smoothed plain_codec_;
  Smoothed hidden_;
  Smoothed rest_;            // the time of a step without the cost of the call
  std::vector<float> kept_;  // the kept share of each rung; -1: not measured
  int since_kept_ = 0;       // calls since a kept share was last measured
};

}  // namespace infold::compress
