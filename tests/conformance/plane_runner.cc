// SPDX-License-Identifier: Apache-2.0
//
// Fills in the defaults of a packet line, and compares its outcome.
#include "tests/conformance/plane_runner.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace infold::conformance {
namespace {

bool holds_data(unsigned kind) {
  return kind == INFOLD_KIND_ADD || kind == INFOLD_KIND_PARTIAL || kind == INFOLD_KIND_OVERRANGE ||
         kind == INFOLD_KIND_RESULT || kind == INFOLD_KIND_REALIGN;
}

std::string receiver(const Outgoing& packet) {
  if (packet.to == Outgoing::To::parent) return "to the parent: ";
  std::string text = "to worker " + std::to_string(packet.worker);
  if (packet.port != 1) text += " port " + std::to_string(packet.port);
  return text + ": ";
}

}  // namespace

std::string PlaneRunner::configure(const Step& step) {
  Cursor cursor(step);
  job_ = PlaneJob{};
  cursor.accept("job");
  if (!cursor.done() && cursor.peek() != "workers") {
    job_.job = static_cast<std::uint16_t>(cursor.take_number());
  }
  while (!cursor.done()) {
    const std::string word = cursor.take_word();
    if (word == "epoch") {
      job_.epoch = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "slots") {
      job_.slots = static_cast<std::uint16_t>(cursor.take_number());
    } else if (word == "world") {
      job_.world = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "parent") {
      job_.parent_worker = static_cast<std::uint8_t>(cursor.take_number());
    } else if (word == "datagram") {
      job_.datagram_bytes_max = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "limit") {
      job_.elements_max = static_cast<std::uint32_t>(cursor.take_number());
    } else if (word == "sparse") {
      job_.sparse = true;
    } else if (word == "native") {
      job_.native = true;
    } else if (word == "pending_bits") {
      job_.pending_bits = true;
    } else if (word == "brief") {
      job_.brief = true;
    } else if (word == "ports") {
      job_.ports = true;
    } else if (word == "workers") {
      // "[0 1 2-3]" is three workers, the last of which speaks for two ranks. A plain number is the
      // number of workers.
      if (cursor.peek() == "[") {
        job_.workers = take_ranks(cursor);
      } else {
        job_.workers.clear();
        for (std::int64_t i = cursor.take_number(); i > 0; --i) {
          job_.workers.push_back({static_cast<std::int64_t>(job_.workers.size()), 1});
        }
      }
      job_.world = 0;
      for (const Ranks& ranks : job_.workers) job_.world += static_cast<std::uint32_t>(ranks.count);
    } else {
      cursor.fail("a job has no '" + word + "'");
    }
  }
  signature_ = Signature{};
  return plane_.configure(job_);
}

std::vector<Ranks> PlaneRunner::all_ranks() const { return job_.workers; }

PacketText PlaneRunner::read_injected(Cursor& cursor) {
  PacketText packet;
  packet.job = job_.job;
  packet.epoch = job_.epoch;
  packet.signature = signature_;
  packet.signature.shape.reset();
  from_ = cursor.accept("parent")      ? Plane::From::parent
          : cursor.accept("elsewhere") ? Plane::From::elsewhere
                                       : Plane::From::worker;
  if (from_ == Plane::From::parent) {
    packet.kind = INFOLD_KIND_RESULT;
    packet.worker = job_.parent_worker.value_or(0);
  }
  read_fields(cursor, packet);
  const bool whole_job = packet.kind == INFOLD_KIND_RESULT || packet.kind == INFOLD_KIND_REALIGN;
  if (packet.ranks.empty() && holds_data(packet.kind)) {
    const auto worker = static_cast<std::size_t>(packet.worker);
    if (whole_job) {
      packet.ranks = {{0, job_.world}};
    } else if (worker < job_.workers.size()) {
      packet.ranks = {job_.workers[worker]};
    } else {
      packet.ranks = {{packet.worker, 1}};
    }
  }
  if (ends_job(packet.kind) && packet.round == 1) packet.round = 0;
  signature_ = packet.signature;
  return packet;
}

void PlaneRunner::set_defaults(PacketText& packet, Outgoing::To to) const {
  if (to == Outgoing::To::parent) packet.worker = job_.parent_worker.value_or(0);
  if (ends_job(packet.kind)) {
    packet.slot = packet.round = 0;
    return;
  }
  if (packet.ranks.empty() && holds_data(packet.kind)) packet.ranks = all_ranks();
}

PlaneRunner::Expected PlaneRunner::read_expected(Cursor& cursor, const PacketText& injected) const {
  Expected expected;
  PacketText packet;
  packet.job = job_.job;
  packet.epoch = job_.epoch;
  packet.slot = injected.slot;
  packet.round = injected.round;
  packet.worker = injected.worker;
  packet.signature = injected.signature;
  const std::string to = cursor.take_word();
  if (to == "all") {
    expected.packet.to = Outgoing::To::all_workers;
  } else if (to == "parent") {
    expected.packet.to = Outgoing::To::parent;
  } else if (to == "worker") {
    expected.packet.to = Outgoing::To::worker;
    expected.packet.worker = static_cast<std::uint8_t>(cursor.take_number());
    if (cursor.accept("port")) {
      expected.packet.port = static_cast<std::uint16_t>(cursor.take_number());
    }
  } else {
    cursor.fail("expected 'none', 'drop', 'all', 'worker' or 'parent', not '" + to + "'");
  }
  const auto kind = kind_named(cursor.take_word());
  if (!kind) cursor.fail("after the receiver comes the kind of packet");
  packet.kind = *kind;
  if (ends_job(packet.kind)) packet.worker = expected.packet.worker;
  set_defaults(packet, expected.packet.to);
  read_fields(cursor, packet);
  if (packet.port != 1) cursor.fail("a receiver's port comes before the kind of packet");
  expected.packet.datagram = to_bytes(packet, "expected packet");
  return expected;
}

void PlaneRunner::run(const Step& step) {
  Cursor cursor(step);
  const PacketText injected = read_injected(cursor);
  if (!cursor.accept("expect")) cursor.fail("a packet needs an 'expect'");
  plane_.inject(to_bytes(injected, step.where), from_, static_cast<std::uint16_t>(injected.port));

  std::string drop;
  std::vector<Expected> expected;
  if (cursor.accept("drop")) {
    drop = cursor.take_word();
  } else if (!cursor.accept("none")) {
    do expected.push_back(read_expected(cursor, injected));
    while (cursor.accept("and"));
  }
  if (!cursor.done()) cursor.fail("'" + cursor.peek() + "' does not belong here");

  compare(step, std::move(expected));
  const std::optional<std::string> reason = plane_.drop_reason();
  if (reason && *reason != drop) {
    throw VectorError(step.where + ": " +
                      (drop.empty() ? "not to be dropped" : "to be dropped: " + drop) +
                      "\n  got: " + (reason->empty() ? "taken" : "dropped: " + *reason));
  }
}

std::vector<Outgoing> PlaneRunner::one_by_one(const std::vector<Outgoing>& packets) const {
  std::vector<Outgoing> each;
  for (const Outgoing& packet : packets) {
    if (packet.to != Outgoing::To::all_workers) {
      each.push_back(packet);
      continue;
    }
    for (std::size_t worker = 0; worker < job_.workers.size(); ++worker) {
      each.push_back({Outgoing::To::worker, static_cast<std::uint8_t>(worker), packet.datagram});
    }
  }
  std::sort(each.begin(), each.end(), [](const Outgoing& a, const Outgoing& b) {
    return std::tie(a.to, a.worker, a.port, a.datagram) <
           std::tie(b.to, b.worker, b.port, b.datagram);
  });
  return each;
}

void PlaneRunner::compare(const Step& step, std::vector<Expected> expected) {
  std::vector<Outgoing> wanted;
  for (Expected& one : expected) wanted.push_back(std::move(one.packet));
  wanted = one_by_one(wanted);
  const std::vector<Outgoing> got = one_by_one(plane_.collect());
  const bool same = std::equal(wanted.begin(), wanted.end(), got.begin(), got.end(),
                               [](const Outgoing& a, const Outgoing& b) {
                                 return a.to == b.to && a.worker == b.worker && a.port == b.port &&
                                        a.datagram == b.datagram;
                               });
  if (same) return;
  std::string text = step.where + ": other packets than expected";
  for (const Outgoing& one : wanted) {
    text += "\n  expected " + receiver(one) + describe(one.datagram);
  }
  if (wanted.empty()) text += "\n  expected none";
  for (const Outgoing& one : got) text += "\n  got      " + receiver(one) + describe(one.datagram);
  if (got.empty()) text += "\n  got none";
  throw VectorError(text);
}

}  // namespace infold::conformance
