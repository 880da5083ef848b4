// SPDX-License-Identifier: Apache-2.0
//
// Decides how the calls of one list of parameters travel: at which rung of a setting, or plain.
// Rungs are values of the setting, from the fewest bytes on. It takes the finest way whose time is
// within a tolerance of the fastest way's. Time that the caller's work hides counts as free.
//
//   setting() -> the call is made -> learn(times of the call before, as all ranks have agreed)
//
// It has no clock and draws nothing. So the same agreed times give the same settings at all ranks.
//
// How it predicts. A call's time is a latency, and bytes over a rate. The present rung gives the
// rate at once, and one more rung gives the latency. It looks at another rung, or at plain calls,
// from time to time. Such looks take at most 1/32 more time, but for those of the first calls. A
// move that goes back on the one before makes the next wait twice as long, so noise moves little.
//
//   call 0    the first rung, not measured: buffers grow
//   1, 2      the first rung
//   3, 4      another rung, for the latency
//   5, 6      plain, where that may be
//   then      decisions
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "codec/control/call_times.h"
#include "codec/control/smoothed.h"

namespace infold::codec {

class Controller {
 public:
  struct Options {
    // Of each rung: its bytes, in any unit, not falling. At least one rung.
    std::vector<double> sizes;
    std::size_t start = 0;  // the first rung
    bool may_skip = false;
    double tolerance = 0.1;
  };
  struct Setting {
    std::size_t rung = 0;  // of compressed calls
    bool is_plain = false;

    friend bool operator==(const Setting&, const Setting&) = default;
  };

  // A finer rung has at most so many times the bytes, because a prediction from little is wrong.
  static constexpr double kRiseMax = 4;
  // Calls between looks. They double while nothing changes.
  static constexpr int kLookEveryMin = 32;
  static constexpr int kLookEveryMax = 4096;
  // A look may cost this share of the time until the next. So what took 65 times as long is not
  // looked at until the network changes.
  static constexpr double kLookShare = 1.0 / 32;
  // Two, so that one slow call is no result.
  static constexpr int kLookCalls = 2;
  // Rungs nearer than this tell no latency.
  static constexpr double kApart = 1.4;
  // Calls between moves. The times of a call are known two calls later, and two are needed.
  static constexpr int kPatienceMin = 2;
  static constexpr int kPatienceMax = 64;

  explicit Controller(Options options);

  // Of the next call.
  Setting setting() const { return of(now_); }
  // The call with setting() has ended well. Unknown times are passed over.
  void learn(const std::optional<CallTimes>& times);

  // All that it remembers, as numbers that a float holds.
  std::vector<float> state() const;
  // False: this is no state of a controller with these rungs, and nothing has changed.
  bool load(std::span<const float> state);

 private:
  // A place counts the ways from the fewest bytes on: the rungs, then plain.
  int rungs() const { return static_cast<int>(options_.sizes.size()); }
  int plain() const { return rungs(); }
  Setting of(int place) const;
  double size_of(int rung) const { return options_.sizes[static_cast<std::size_t>(rung)]; }

  void observe(int place, const CallTimes& times);
  void observe_rung(int rung, double seconds);
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
  bool is_open(int place) const;
  int choose() const;

  bool is_sound() const;
  template <typename Visitor>
  void visit(const Visitor& visitor);

  Options options_;

  // Places: in force, of the call before the next, of the next, and of a look.
  int home_;
  int former_;
  int now_;
  int look_ = 0;
  int look_left_ = 0;  // calls of the look that are still to be made
  int stage_ = 0;      // of the first calls
  int learned_ = 0;    // calls, up to the first that counts
  int hold_ = 2;       // calls until the next decision
  int patience_ = kPatienceMin;
  int direction_ = 0;  // of the last move: 0 none, 1 to more bytes, 2 to fewer
  int look_every_ = kLookEveryMin;
  int since_look_ = 0;
  int looks_ = 0;  // kinds of looks take turns

  // Times in seconds, of the network unless they say codec.
  int here_rung_;  // the last rung in force
  Smoothed here_;
  int there_rung_ = -1;  // another one, for the latency; -1: none
  Smoothed there_;
  float latency_ = 0;
  float guess_ = 0;  // of the rung in force, when the last move took it
  Smoothed plain_;
  // The other level when one was measured last. Their quotient is what the network has changed.
  float here_at_plain_ = 0;
  float plain_at_here_ = 0;
  Smoothed codec_;
  Smoothed plain_codec_;
  Smoothed hidden_;
};

}  // namespace infold::codec
