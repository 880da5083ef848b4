// SPDX-License-Identifier: Apache-2.0
//
// Each sentence has one function, which returns nothing where the sentence does not apply.
#include "study/predict/advice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "base/check.h"

namespace infold::predict {
namespace {

using Sentence = std::optional<std::string>;

const Placement& first_of(const std::vector<Placement>& placements, bool is_ring) {
  const auto found = std::find_if(placements.begin(), placements.end(), [&](const Placement& each) {
    return (each.kind == PlacementKind::ring) == is_ring;
  });
  CHECK(found != placements.end());
  return *found;
}

std::string headline(const Placement& best, const Placement& ring) {
  const double gain = ring.time_s / best.time_s;
  if (gain > 1 + kSame) {
    return fmt::format("Best: {}, {:.2f} times as fast as a ring.", best.name, gain);
  }
  if (gain > 1 - kSame) {
    return fmt::format(
        "infold would not help here: its best placement ({}) is {:.1f} % {} than a ring.",
        best.name, std::fabs(gain - 1) * 100, gain > 1 ? "faster" : "slower");
  }
  return fmt::format(
      "infold would not help here: its best placement ({}) takes {:.2f} times as long as a ring.",
      best.name, 1 / gain);
}

// Explains why nothing can send fewer bytes than a ring of two.
Sentence two_workers(const Question& question) {
  if (question.worker_rates.size() > 2) return std::nullopt;
  return "Between 2 workers a ring too sends each byte once in each direction, in 2 hops: only a "
         "smaller wire format can save time.";
}

Sentence slow_hosts(const Question& question, const Placement& placement, const Placement& ring) {
  if (placement.kind != PlacementKind::hosts || placement.is_processor_bound()) {
    return std::nullopt;
  }
  if (placement.time_s <= ring.time_s * (1 + kSame)) return std::nullopt;
  const bool alone = placement.sites.size() == 1;
  std::string text = fmt::format(
      "{} takes {:.1f} times as long as a ring: the contributions of {} workers pass through {}, "
      "{} each way{}, where a "
      "ring puts {} on each link.",
      placement.name, placement.time_s / ring.time_s, question.worker_rates.size(),
      alone ? "one port" : "its ports", bytes_text(placement.busiest_bytes),
      alone ? "" : " on the busiest", bytes_text(ring.busiest_bytes));

  const auto workers = static_cast<double>(question.worker_rates.size());
  const double slowest =
      *std::min_element(question.worker_rates.begin(), question.worker_rates.end());
  const std::uint64_t elements = tensor_elements(question.layout.dtype, question.tensor_bytes);
  const Passage passage = passage_of(question.layout, elements, question.framing);
  const double links_s = ring.time_s - placement.hops * question.rtt_s / 2;
  const double equal = links_s > 0 ? 8 * workers * static_cast<double>(passage.link_bytes) / links_s
                                   : std::numeric_limits<double>::infinity();
  if (equal >= workers * slowest) {
    return text + " Faster ports would make it no faster than a ring.";
  }
  return text +
         fmt::format(
             " It takes {} of {}{} to equal the ring, and of {} to keep up with the workers' "
             "links.",
             alone ? "a port" : "ports", rate_text(equal), alone ? "" : " together",
             rate_text(workers * slowest));
}

// Says that faster links would change nothing, and what would help.
Sentence slow_processors(const Question& question, const Placement& placement) {
  if (!placement.is_processor_bound()) return std::nullopt;
  const std::string time = time_text(placement.processors_s);
  if (placement.busiest_processor == "the machine") {
    return fmt::format(
        "{} waits for processors: its packets take {} on the {} processor{} of the machine.",
        placement.name, time, question.shared_processors,
        question.shared_processors == 1 ? "" : "s");
  }
  std::string text = fmt::format("{} waits for processors: the packets of {} take {}",
                                 placement.name, placement.busiest_processor, time);
  // Without a limit there is no time to compare with.
  const bool has_limit = placement.busiest_rate < kUnlimited;
  if (has_limit) text += fmt::format(", the busiest link {}", time_text(placement.links_s));
  text += '.';
  if (has_limit && placement.busiest_processor.starts_with("host:")) {
    const double threads = question.host_threads;
    text += fmt::format(" With {:.0f} threads (--threads) the host would keep up.",
                        std::ceil(threads * placement.processors_s / placement.links_s));
  }
  return text;
}

Sentence small_window(const Placement& placement) {
  if (!placement.is_window_bound()) return std::nullopt;
  return fmt::format(
      "{} waits for round trips: a worker has at most {:.0f} chunks in flight to each site. Larger "
      "packets (--mtu) carry more in each.",
      placement.name, kWindow);
}

// Returns whether hops take most of a call's time.
bool is_small(const Question& question, const Placement& placement) {
  return placement.hops * question.rtt_s / 2 > placement.busy_s();
}

Sentence on_workers(const Question& question, const Placement& placement, const Placement& ring) {
  if (placement.kind != PlacementKind::workers || question.worker_rates.size() == 2) {
    return std::nullopt;
  }
  const std::string subject = "On the workers, without any switch, infold ";
  const double bytes = placement.busiest_bytes / ring.busiest_bytes;
  if (is_small(question, placement)) {
    return subject + fmt::format("takes {} hops against {}: {} against {}.", placement.hops,
                                 ring.hops, time_text(placement.time_s), time_text(ring.time_s));
  }
  if (std::fabs(bytes - 1) <= kSame) {
    return subject + fmt::format(
                         "equals a ring in bytes ({:.2f} times) and beats it in hops ({} "
                         "against {}).",
                         bytes, placement.hops, ring.hops);
  }
  return subject + fmt::format(
                       "puts {:.2f} times a ring's bytes on the busiest link and takes {} "
                       "hops against {}.",
                       bytes, placement.hops, ring.hops);
}

// Says how much of the difference from a ring comes from the wire format and not from the
// placement.
Sentence wire_bytes(const Question& question, const Placement& best) {
  const std::uint32_t own = 8 * element_bytes(question.layout.dtype);
  const std::uint32_t wire = 8 * question.layout.element_bytes();
  if (own == wire || is_small(question, best)) return std::nullopt;
  return wire < own ? fmt::format(
                          "The wire format is a factor of {} in that: {} bits an element where "
                          "the ring sends {}.",
                          own / wire, wire, own)
                    : fmt::format(
                          "The wire format costs a factor of {}: {} bits an element where the "
                          "ring sends {}.",
                          wire / own, wire, own);
}

Sentence small_tensor(const Question& question, const Placement& best) {
  if (!is_small(question, best)) return std::nullopt;
  return fmt::format(
      "The tensor is small: {} of {} are the round trip, so that faster links would "
      "change little.",
      time_text(best.hops * question.rtt_s / 2), time_text(best.time_s));
}

struct Unit {
  double size;
  const char* name;
};

// Uses the largest unit of which the rounded value has at least one.
template <std::size_t kCount>
std::string scaled(double value, const std::array<Unit, kCount>& largest_first) {
  for (const Unit& unit : largest_first) {
    if (value < 0.9995 * unit.size) continue;
    return fmt::format("{:.3g} {}", value / unit.size, unit.name);
  }
  const Unit& smallest = largest_first.back();
  return fmt::format("{:.3g} {}", value / smallest.size, smallest.name);
}

}  // namespace

std::vector<std::string> advice(const Question& question,
                                const std::vector<Placement>& placements) {
  const Placement& ring = first_of(placements, true);
  const Placement& best = first_of(placements, false);
  std::vector<std::string> sentences = {headline(best, ring)};
  const auto add = [&](const Sentence& sentence) {
    if (sentence) sentences.push_back(*sentence);
  };
  add(wire_bytes(question, best));
  add(two_workers(question));
  add(small_tensor(question, best));
  for (const Placement& placement : placements) {
    add(slow_processors(question, placement));
    add(small_window(placement));
    add(slow_hosts(question, placement, ring));
    add(on_workers(question, placement, ring));
  }
  return sentences;
}

std::string rate_text(double bits_per_second) {
  if (bits_per_second >= kUnlimited) return "no limit";
  return scaled(
      bits_per_second,
      std::array<Unit, 4>{{{1e12, "Tbit/s"}, {1e9, "Gbit/s"}, {1e6, "Mbit/s"}, {1e3, "kbit/s"}}});
}

std::string bytes_text(double bytes) {
  return scaled(
      bytes, std::array<Unit, 5>{{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}, {1, "B"}}});
}

std::string time_text(double seconds) {
  return scaled(seconds, std::array<Unit, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}});
}

}  // namespace infold::predict
