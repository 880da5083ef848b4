// SPDX-License-Identifier: Apache-2.0
//
// Each placement is a list of sites with their links. balance.h and weights.h do the rest.
#include "study/predict/placement.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "core/stripe.h"
#include "plan/balance.h"
#include "plan/plan.h"
#include "plan/weights.h"

namespace infold::predict {
namespace {

// From the worker to the site and back. The answer to a chunk does not wait for anything else.
constexpr std::uint32_t kHopsThroughSite = 2;
constexpr const char* kWorkerLink = "a worker's link";
constexpr const char* kWorker = "a worker";
constexpr const char* kMachine = "the machine";

struct Site {
  std::string name;
  plan::SiteLink link;
  double rate = 0;
  double work_s = 0;   // the work of all its threads to sum the whole tensor; 0: as fast as any
                       // link
  double threads = 1;  // the threads that share this work

  // The basis of shares. A worker's own packets cost its processor about the same wherever they are
  // summed, so only the time of a dedicated host follows from its share alone.
  plan::SiteLink bound() const {
    plan::SiteLink slower = link;
    if (!link.on_worker) slower.per_share_s = std::max(link.per_share_s, work_s / threads);
    return slower;
  }
};

// What all placements of one question share.
struct Model {
  explicit Model(const Question& asked) : question(asked) {
    CHECK_THAT(asked.worker_rates.size(), >=, 2U);
    CHECK_THAT(asked.worker_rates.size(), <=, std::size_t{INFOLD_WORKERS_MAX});
    CHECK_THAT(asked.hosts.size(), <=, core::Stripe::kSitesMax);
    workers = static_cast<double>(asked.worker_rates.size());
    elements = tensor_elements(asked.layout.dtype, asked.tensor_bytes);
    passage = passage_of(asked.layout, elements, asked.framing);
    passage_bits = 8 * static_cast<double>(passage.link_bytes);
    slowest = *std::min_element(asked.worker_rates.begin(), asked.worker_rates.end());
    const auto chunks = static_cast<double>(passage.chunks);
    const double chunk_elements = static_cast<double>(elements) / chunks;
    rank_s = chunks * asked.processors.rank.of(chunk_elements);
    contributions_s = chunks * asked.processors.site.of(chunk_elements);
    own_s = chunks * asked.processors.own.of(chunk_elements);
  }

  Site on_host(const Host& host) const {
    return {host.name,
            {0, workers * passage_bits / host.bits_per_second, false},
            host.bits_per_second,
            workers * contributions_s,
            static_cast<double>(question.host_threads)};
  }
  // A worker sends its contributions except those for its own share, which stay in memory, and
  // sends the results of its share to the others. It receives as many bytes.
  Site on_worker(std::size_t rank) const {
    const double passage_s = passage_bits / question.worker_rates[rank];
    return {fmt::format("worker {}", rank),
            {passage_s, (workers - 2) * passage_s, true},
            question.worker_rates[rank],
            own_s + (workers - 1) * contributions_s - rank_s};
  }
  // Each port carries one passage in and one out, so the port of the slowest worker is the busiest.
  // A separate switch sums as fast as its ports carry. On a machine that all share, it is a
  // process.
  Site in_path() const {
    Site site{"switch", {0, passage_bits / slowest, false}, slowest};
    if (question.shared_processors == 0) return site;
    site.work_s = workers * contributions_s;
    site.threads = question.host_threads;
    return site;
  }

  // From a worker to the site and back, with the time of one chunk on both links. A switch in the
  // path is halfway between two hosts.
  double trip_s(PlacementKind kind) const {
    const double path_s =
        kind == PlacementKind::switch_in_path ? question.rtt_s / 2 : question.rtt_s;
    return path_s + 2 * passage_bits / static_cast<double>(passage.chunks) / slowest;
  }

  const Question& question;
  double workers = 0;
  std::uint64_t elements = 0;
  Passage passage;
  double passage_bits = 0;
  double slowest = 0;
  // Times of one processor for the chunks of one worker:
  double rank_s = 0;           // at the rank, if sums are made elsewhere
  double contributions_s = 0;  // at the site that sums them
  double own_s = 0;            // both in one process
};

// Records this processor if it is the busiest so far.
void note_processor(Placement& placement, double seconds, const std::string& whose) {
  if (seconds <= placement.processors_s) return;
  placement.processors_s = seconds;
  placement.busiest_processor = whose;
}

// Records all processor time of a sum on a machine whose processors all parties share.
void note_machine(Placement& placement, const Question& question, double seconds) {
  if (question.shared_processors == 0) return;
  note_processor(placement, seconds / question.shared_processors, kMachine);
}

void settle_time(Placement& placement, double rtt_s) {
  placement.busiest_bytes = placement.links_s * placement.busiest_rate / 8;
  placement.time_s = placement.busy_s() + placement.hops * rtt_s / 2;
}

// Fills in the times for these weights and for whole chunks: a site that gets 1.2 chunks of a small
// tensor on average has two of them in some calls.
Placement place(const Model& model, PlacementKind kind, std::string name,
                const std::vector<Site>& sites) {
  std::vector<plan::SiteLink> bounds;
  for (const Site& site : sites) bounds.push_back(site.bound());
  const double floor_s = model.passage_bits / model.slowest;
  const plan::Weights weights = plan::round_to_weights(plan::balance(bounds, floor_s).shares);
  double pattern = 0;
  for (const std::uint16_t weight : weights.weights) pattern += weight;

  Placement placement;
  placement.kind = kind;
  placement.name = std::move(name);
  placement.hops = kHopsThroughSite;
  placement.links_s = floor_s;
  note_processor(placement, model.rank_s, kWorker);
  double machine_s = model.workers * model.rank_s;
  placement.busiest_link = kWorkerLink;
  placement.busiest_rate = model.slowest;
  const auto chunks = static_cast<double>(model.passage.chunks);
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const double share = weights.weights[i] / pattern;
    placement.sites.push_back({sites[i].name, share, weights.weights[i]});
    const double whole = std::min(1.0, std::ceil(share * chunks - 1e-9) / chunks);
    const plan::SiteLink& link = sites[i].link;
    const double own_s = link.on_worker ? model.rank_s : 0;
    note_processor(placement, own_s + whole * sites[i].work_s / sites[i].threads,
                   link.on_worker ? kWorker : sites[i].name);
    machine_s += share * sites[i].work_s;
    const double trips = whole * chunks / kWindow;
    placement.windows_s = std::max(placement.windows_s, trips * model.trip_s(kind));
    const double link_s = link.fixed_s + whole * link.per_share_s;
    if (link_s <= placement.links_s) continue;
    placement.links_s = link_s;
    placement.busiest_link = link.on_worker ? kWorkerLink : sites[i].name;
    placement.busiest_rate = sites[i].rate;
  }
  note_machine(placement, model.question, machine_s);
  settle_time(placement, model.question.rtt_s);
  return placement;
}

// A reduce-scatter and then an all-gather, each with W - 1 messages of a W-th of the tensor, in the
// tensor's own type.
Placement ring(const Model& model) {
  const auto workers = static_cast<std::uint64_t>(model.question.worker_rates.size());
  const std::uint64_t part =
      (model.elements + workers - 1) / workers * element_bytes(model.question.layout.dtype);
  Placement placement;
  placement.kind = PlacementKind::ring;
  placement.name = "ring";
  placement.hops = static_cast<std::uint32_t>(2 * (workers - 1));
  placement.busiest_link = kWorkerLink;
  placement.busiest_rate = model.slowest;
  const std::uint64_t message = tcp_link_bytes(part, model.question.framing);
  placement.links_s = 8 * placement.hops * static_cast<double>(message) / model.slowest;
  const double rank_s =
      placement.hops * static_cast<double>(part) * model.question.processors.ring_byte_s;
  note_processor(placement, rank_s, kWorker);
  note_machine(placement, model.question, model.workers * rank_s);
  settle_time(placement, model.question.rtt_s);
  return placement;
}

// Returns, for instance, "2 x host:100G + host:25G".
std::string joined(const std::vector<Host>& hosts) {
  std::string text;
  for (std::size_t first = 0; first < hosts.size();) {
    std::size_t end = first;
    while (end < hosts.size() && hosts[end].name == hosts[first].name) ++end;
    if (!text.empty()) text += " + ";
    if (end - first > 1) text += fmt::format("{} x ", end - first);
    text += hosts[first].name;
    first = end;
  }
  return text;
}

// Adds workers as sites, the fastest first, as long as a job has room for sites.
void append_workers(const Model& model, std::vector<Site>& sites) {
  const std::vector<double>& rates = model.question.worker_rates;
  std::vector<std::size_t> ranks(rates.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  std::sort(ranks.begin(), ranks.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(-rates[a], a) < std::pair(-rates[b], b);
  });
  for (const std::size_t rank : ranks) {
    if (sites.size() == core::Stripe::kSitesMax) return;
    sites.push_back(model.on_worker(rank));
  }
}

void append_host_placements(const Model& model, std::vector<Placement>& placements) {
  std::vector<Host> hosts = model.question.hosts;
  std::sort(hosts.begin(), hosts.end(), [](const Host& a, const Host& b) {
    return std::tie(b.bits_per_second, a.name) < std::tie(a.bits_per_second, b.name);
  });
  std::set<std::string> seen;
  std::vector<Site> sites;
  for (const Host& host : hosts) {
    sites.push_back(model.on_host(host));
    if (!seen.insert(host.name).second) continue;
    placements.push_back(place(model, PlacementKind::hosts, host.name, {sites.back()}));
  }
  if (sites.size() > 1) {
    placements.push_back(place(model, PlacementKind::hosts, joined(hosts), sites));
  }
  const std::size_t host_count = sites.size();
  append_workers(model, sites);
  Placement mixed = place(model, PlacementKind::mixed, joined(hosts) + " + workers", sites);
  // If hosts keep up by themselves, they leave nothing to the workers.
  const bool helped =
      std::any_of(mixed.sites.begin() + static_cast<std::ptrdiff_t>(host_count), mixed.sites.end(),
                  [](const SiteShare& site) { return site.weight > 0; });
  if (helped) placements.push_back(std::move(mixed));
}

}  // namespace

std::vector<Placement> predict(const Question& question) {
  const Model model(question);
  std::vector<Placement> placements;
  if (question.switch_in_path) {
    placements.push_back(place(model, PlacementKind::switch_in_path, "switch", {model.in_path()}));
  }
  if (!question.hosts.empty()) append_host_placements(model, placements);
  std::vector<Site> workers;
  append_workers(model, workers);
  placements.push_back(place(model, PlacementKind::workers, "workers", workers));
  placements.push_back(ring(model));
  std::sort(placements.begin(), placements.end(), [](const Placement& a, const Placement& b) {
    return std::tie(a.time_s, a.kind, a.name) < std::tie(b.time_s, b.kind, b.name);
  });
  return placements;
}

}  // namespace infold::predict
