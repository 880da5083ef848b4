// SPDX-License-Identifier: Apache-2.0
#include "compress/steering/steerer.h"

#include <cmath>
#include <utility>

#include "base/check.h"

namespace infold::compress {
namespace {

// Calls from a jump to the next look, because the latency may have changed as well.
constexpr int kLookAfterJump = 8;
// A finer way must be well within the tolerance. Otherwise, a way at its edge would be taken and
// left again and again.
constexpr double kWithin = 0.6;
// As long as a rung is new, each of its times also updates the latency.
constexpr int kFitCalls = 4;
// Shares of a rung's time that its bytes take. From the first on, the time tells the rate; below
// the second, noise hides it.
constexpr double kRateClear = 0.25;
constexpr double kRateUnclear = 0.02;
// If a move's time differs from the prediction by this factor, the move may be taken back at once.
constexpr double kMissed = 1.25;
constexpr float kNotMeasured = -1;
constexpr double kNewShare = 0.25;  // the weight of a new measurement of a rung
// How much of an old measurement of another rung gives way, each time, to what a new one predicts.
// Trainings change, and a wrong number would otherwise stay.
constexpr double kFade = 0.125;
constexpr int kUp = 1;
constexpr int kDown = 2;

bool is_kept(float share) { return share >= 0 && share <= 1; }

double bounded(double seconds) {
  return std::clamp(seconds, double{kCallSecondsMin}, double{kCallSecondsMax});
}

}  // namespace

Steerer::Steerer(Options options)
    : options_(std::move(options)),
      home_(static_cast<int>(options_.start)),
      former_(home_),
      now_(home_),
      here_rung_(home_),
      kept_(options_.sizes.size(), kNotMeasured) {
  CHECK_THAT(options_.start, <, options_.sizes.size());
}

Steerer::Setting Steerer::of(int place) const {
  if (place == plain()) return {static_cast<std::size_t>(here_rung_), true};
  return {static_cast<std::size_t>(place), false};
}

bool Steerer::wants_kept() const {
  if (now_ == plain()) return false;
  return now_ != here_rung_ || here_.count() <= kFitCalls || since_kept_ >= kKeptEvery;
}

std::optional<double> Steerer::kept() const {
  const float share = kept_[static_cast<std::size_t>(here_rung_)];
  return share < 0 ? std::nullopt : std::optional(double{share});
}

void Steerer::learn(const std::optional<CallTimes>& times) {
  if (learned_ < 2) {
    ++learned_;  // times of no call, then of the first, which is not measured
  } else if (times) {
    observe(former_, *times);
  }
  former_ = now_;
  since_kept_ = wants_kept() ? 0 : std::min(since_kept_ + 1, kKeptEvery);
  now_ = decide();
}

void Steerer::observe(int place, const CallTimes& times) {
  hidden_.add(double{times.hidden});
  const double own = double{times.collectives} + double{times.codec};
  if (times.period > 0) {
    rest_.add(std::max(double{times.period} - std::max(own, double{times.hidden}), 0.0));
  }
  if (place != plain()) {
    if (is_kept(times.kept)) observe_kept(place, double{times.kept});
    codec_.add(double{times.codec});
    observe_rung(place, double{times.collectives});
    return;
  }
  plain_codec_.add(double{times.codec});
  const bool jumps = plain_.add(double{times.collectives});
  here_at_plain_ = static_cast<float>(here_.level());
  if (home_ != plain()) return;
  if (plain_.count() <= 2) plain_at_here_ = static_cast<float>(plain_.level());
  if (jumps) note_jump();
}

void Steerer::observe_rung(int rung, double seconds) {
  if (rung != here_rung_) {
    if (rung != there_rung_) there_.restart(seconds);
    there_rung_ = rung;
    there_.add(seconds);
    fit();
    return;
  }
  const bool jumps = here_.add(seconds);
  plain_at_here_ = static_cast<float>(plain_.level());
  if (here_.count() <= 2) here_at_plain_ = static_cast<float>(here_.level());
  latency_ = std::min(latency_, static_cast<float>(here_.level()));
  if (jumps && home_ != plain()) {
    there_rung_ = -1;  // it was measured on another network
    note_jump();
  }
  if (here_.count() <= kFitCalls) fit();
  const double guess{guess_};
  const bool is_missed = here_.level() > kMissed * guess || here_.level() * kMissed < guess;
  if (here_.count() == 2 && guess > 0 && is_missed && look_left_ == 0) hold_ = 0;
}

void Steerer::observe_kept(int rung, double share) {
  float& kept = kept_[static_cast<std::size_t>(rung)];
  if (kept < 0) kept = static_cast<float>(share);
  kept += static_cast<float>(kNewShare * (share - double{kept}));
  for (int other = 0; other < rungs(); ++other) {
    float& old = kept_[static_cast<std::size_t>(other)];
    if (other == rung || old < 0) continue;
    old += static_cast<float>(kFade * (share_along(rung, other) - double{old}));
  }
}

// Fits a line through two rungs. Noise may make the line fall or begin below zero.
void Steerer::fit() {
  if (there_rung_ < 0 || here_.count() == 0 || there_.count() == 0) return;
  const double here_size = size_of(here_rung_);
  const double there_size = size_of(there_rung_);
  const double apart = here_size / there_size;
  if (apart < kApart && 1 / apart < kApart) return;
  const double slope = (here_.level() - there_.level()) / (here_size - there_size);
  const double latency = here_.level() - std::max(slope, 0.0) * here_size;
  latency_ = static_cast<float>(std::max(latency, 0.0));
}

void Steerer::note_jump() {
  patience_ = kPatienceMin;  // moves before the jump say nothing about this network
  direction_ = 0;
  if (look_left_ == 0 && stage_ == 2) hold_ = 0;
  look_every_ = kLookEveryMin;
  since_look_ = kLookEveryMin - kLookAfterJump;
}

int Steerer::decide() {
  since_look_ = std::min(since_look_ + 1, kLookEveryMax);
  if (look_left_ > 0) {
    --look_left_;
    return look_;
  }
  if (hold_ > 0) {
    --hold_;
    return home_;
  }
  if (stage_ < 2) return first_looks();
  const int wish = choose();
  if (wish != home_) {
    move(wish);
  } else if (since_look_ >= look_every_ && look()) {
    return look_;
  }
  return home_;
}

int Steerer::first_looks() {
  ++stage_;
  if (stage_ == 1) {
    if (const std::optional<int> rung = other_rung()) {
      look_at(*rung, kLookCalls);
      hold_ = 0;
      return look_;
    }
    ++stage_;
  }
  if (!options_.may_skip) return home_;
  look_at(plain(), kLookCalls);
  return look_;
}

// Finds a rung to compare with the present one, for the latency. A cheaper rung is preferred,
// because it costs no time.
std::optional<int> Steerer::other_rung() const {
  for (int rung = here_rung_ - 1; rung >= 0; --rung) {
    if (size_of(here_rung_) >= kApart * size_of(rung)) return rung;
  }
  for (int rung = here_rung_ + 1; rung < rungs(); ++rung) {
    if (size_of(rung) >= kApart * size_of(here_rung_)) return rung;
  }
  return std::nullopt;
}

void Steerer::look_at(int place, int calls) {
  if (place == plain()) {
    plain_.restart(bounded(plain_time()));
  } else if (place == here_rung_) {
    here_.restart(bounded(network_time(place)));
  } else {
    there_rung_ = place;
    there_.restart(bounded(network_time(place)));
  }
  look_ = place;
  look_left_ = calls - 1;
  hold_ = 1;  // until the times of the look's last call are known
  since_look_ = 0;
}

// Begins a look. Returns false if there is nothing to look at now, or if the look would take too
// long.
bool Steerer::look() {
  if (here_.level() <= 0) return false;  // there is nothing to compare with
  const int every = look_every_;
  look_every_ = std::min(2 * every, kLookEveryMax);
  patience_ = std::max(patience_ / 2, kPatienceMin);  // there was no move for a while
  since_look_ = 0;
  looks_ = (looks_ + 1) % 2;
  std::optional<int> place = home_ == plain() ? here_rung_ : other_rung();
  if (home_ != plain() && options_.may_skip && (looks_ == 0 || !place)) place = plain();
  if (!place) return false;
  const double more = kLookCalls * (step_time(*place) - step_time(home_));
  if (more > kLookShare * every * step_time(home_)) return false;
  look_at(*place, kLookCalls);
  return true;
}

void Steerer::move(int place) {
  const int direction = place > home_ ? kUp : kDown;
  if (direction_ != 0 && direction != direction_) {
    patience_ = std::min(2 * patience_, kPatienceMax);
  }
  direction_ = direction;
  hold_ = patience_;
  look_every_ = kLookEveryMin;
  if (place == plain()) {
    plain_.restart(bounded(plain_time()));
    plain_at_here_ = static_cast<float>(plain_.level());
  } else {
    const double plain_now = plain_time();
    const double guess = bounded(network_time(place));
    if (place != here_rung_) {
      there_rung_ = home_ == plain() ? -1 : here_rung_;
      there_ = here_;
    }
    here_rung_ = place;
    here_.restart(guess);
    if (plain_.level() > 0) plain_.restart(bounded(plain_now));
    guess_ = static_cast<float>(guess);
    here_at_plain_ = guess_;
  }
  home_ = place;
}

double Steerer::network_time(int rung) const {
  const bool is_stale = home_ == plain() && plain_at_here_ > 0;
  const double slower = is_stale ? plain_.level() / double{plain_at_here_} : 1;
  const double bytes_time = std::max(here_.level() - double{latency_}, 0.0) * slower;
  return double{latency_} + bytes_time * size_of(rung) / size_of(here_rung_);
}

// The time of plain calls is nearly all bytes, so it changes with the rate, if enough of a rung's
// time tells the rate.
double Steerer::plain_time() const {
  const auto before = double{here_at_plain_};
  if (home_ == plain() || before <= 0) return plain_.level();
  const double bytes_before = before - double{latency_};
  const double bytes_now = std::max(here_.level() - double{latency_}, kRateUnclear * here_.level());
  const bool tells_rate = bytes_before >= kRateClear * before;
  return plain_.level() * (tells_rate ? bytes_now / bytes_before : here_.level() / before);
}

// The time that a call costs: its own time, but at least the work that hides it.
double Steerer::cost(int place) const {
  const double own =
      place == plain() ? plain_codec_.level() + plain_time() : codec_.level() + network_time(place);
  return std::max(own, hidden_.level());
}

// Predicts the share of a rung from that of a measured one, on the curve s (1 + b) / (s + b), where
// s is a rung's part of a plain call's bytes, and b depends on the tensors. This is about what
// choosing the largest elements keeps when a residual adds up the others.
double Steerer::share_along(int measured, int rung) const {
  const double share{kept_[static_cast<std::size_t>(measured)]};
  const double there = size_of(measured) / options_.plain_size;
  const double here = size_of(rung) / options_.plain_size;
  if (measured == rung) return share;
  if (here >= 1) return 1;
  if (there >= 1 || share <= there) return here;
  const double bend = there * (1 - share) / (share - there);
  return here * (1 + bend) / (here + bend);
}

// A rung that was not measured takes its share from the nearest one that was.
double Steerer::kept_share(int place) const {
  if (place == plain()) return 1;
  int nearest = -1;
  for (int rung = 0; rung < rungs(); ++rung) {
    if (kept_[static_cast<std::size_t>(rung)] < 0) continue;
    if (nearest < 0 || std::abs(rung - place) < std::abs(nearest - place)) nearest = rung;
  }
  return nearest < 0 ? 1 : share_along(nearest, place);
}

// The progress of a step for each second.
double Steerer::worth(int place) const {
  return std::sqrt(kept_share(place)) / std::max(step_time(place), double{kCallSecondsMin});
}

bool Steerer::is_open(int place) const {
  if (place == plain()) return options_.may_skip && plain_.level() > 0;
  return place <= here_rung_ || size_of(place) <= kRiseMax * size_of(here_rung_);
}

int Steerer::choose() const {
  if (here_.level() <= 0) return home_;  // nothing is known yet
  double most = worth(home_);
  for (int place = 0; place <= plain(); ++place) {
    if (is_open(place)) most = std::max(most, worth(place));
  }
  const bool may_stay = worth(home_) * (1 + options_.tolerance) >= most;
  const double limit = most / (1 + kWithin * options_.tolerance);
  for (int place = plain(); place >= 0; --place) {
    if (place == home_ && may_stay) return home_;
    if (is_open(place) && worth(place) >= limit) return place;
  }
  return home_;
}

template <typename Visitor>
void Steerer::visit(const Visitor& visitor) {
  for (int* const each : {&home_, &former_, &now_, &look_, &look_left_, &stage_, &learned_, &hold_,
                          &patience_, &direction_, &look_every_, &since_look_, &looks_, &here_rung_,
                          &there_rung_, &since_kept_}) {
    visitor(*each);
  }
  for (float* const each : {&latency_, &guess_, &here_at_plain_, &plain_at_here_}) visitor(*each);
  for (Smoothed* const each :
       {&here_, &there_, &plain_, &codec_, &plain_codec_, &hidden_, &rest_}) {
    each->visit(visitor);
  }
  for (float& each : kept_) visitor(each);
}

std::vector<float> Steerer::state() const {
  std::vector<float> state;
  Steerer copy = *this;
  copy.visit([&state](auto& member) { state.push_back(static_cast<float>(member)); });
  return state;
}

bool Steerer::load(std::span<const float> state) {
  if (state.size() != this->state().size()) return false;
  const auto is_number = [](float value) { return value >= -1 && value <= kCallSecondsMax; };
  if (!std::all_of(state.begin(), state.end(), is_number)) return false;
  Steerer loaded = *this;
  std::size_t next = 0;
  loaded.visit([&](auto& member) {
    member = static_cast<std::remove_reference_t<decltype(member)>>(state[next++]);
  });
  // Converting a fraction to a count changes it, so a state with one does not come back equal.
  const std::vector<float> again = loaded.state();
  if (!std::equal(state.begin(), state.end(), again.begin()) || !loaded.is_sound()) return false;
  *this = std::move(loaded);
  return true;
}

bool Steerer::is_sound() const {
  const auto is_in = [](int value, int least, int most) { return value >= least && value <= most; };
  const int last = options_.may_skip ? plain() : plain() - 1;
  for (const int place : {home_, former_, now_, look_}) {
    if (!is_in(place, 0, last)) return false;
  }
  for (const Smoothed& each : {here_, there_, plain_, codec_, plain_codec_, hidden_, rest_}) {
    if (!is_in(each.count(), 0, Smoothed::kWindow) || each.level() < 0) return false;
  }
  const auto is_share = [](float share) { return share == kNotMeasured || is_kept(share); };
  if (!std::all_of(kept_.begin(), kept_.end(), is_share)) return false;
  return is_in(look_left_, 0, kLookCalls) && is_in(stage_, 0, 2) && is_in(learned_, 0, 2) &&
         is_in(hold_, 0, kPatienceMax) && is_in(patience_, kPatienceMin, kPatienceMax) &&
         is_in(direction_, 0, kDown) && is_in(look_every_, kLookEveryMin, kLookEveryMax) &&
         is_in(since_look_, 0, kLookEveryMax) && is_in(since_kept_, 0, kKeptEvery) &&
         is_in(looks_, 0, 1) && is_in(here_rung_, 0, rungs() - 1) &&
         is_in(there_rung_, -1, rungs() - 1) && latency_ >= 0 && guess_ >= 0 &&
         here_at_plain_ >= 0 && plain_at_here_ >= 0;
}

}  // namespace infold::compress
