// SPDX-License-Identifier: Apache-2.0
//
// Points in time and spans of time, in nanoseconds. The driver chooses the origin. State machines
// are given instants and never read a clock, so a simulator can give them any.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace infold::base {

struct Duration {
  std::int64_t ns = 0;

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, std::int64_t factor) { return {a.ns * factor}; }
  friend constexpr Duration operator/(Duration a, std::int64_t parts) { return {a.ns / parts}; }
};

constexpr Duration nanoseconds(std::int64_t count) { return {count}; }
constexpr Duration microseconds(std::int64_t count) { return {count * 1'000}; }
constexpr Duration milliseconds(std::int64_t count) { return {count * 1'000'000}; }
constexpr Duration seconds(std::int64_t count) { return {count * 1'000'000'000}; }

struct Instant {
  std::int64_t ns = 0;

  // Later than any instant that a driver gives: the deadline of something that waits for ever.
  static constexpr Instant never() { return {std::numeric_limits<std::int64_t>::max()}; }

  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

}  // namespace infold::base
