// SPDX-License-Identifier: Apache-2.0
//
// Prints every packet of spec/vectors as a line of JSON: its bytes, the vector's fields, and the
// core's verdict. After each packet come damaged copies, which have a verdict but no fields. Run it
// in the repository's root.
#include <algorithm>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/prng.h"
#include "core/packet/packet.h"
#include "tests/conformance/number_runner.h"
#include "tests/conformance/plane_runner.h"
#include "tests/conformance/planes/software_plane.h"
#include "tests/conformance/worker_runner.h"

namespace infold::conformance {
namespace {

using nlohmann::json;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kSeed = 15;
constexpr int kDamagedCopies = 3;

// The names of core::Malformed, in its order.
constexpr const char* kVerdicts[] = {
    "none",         "truncated", "oversized", "magic", "version", "kind",  "format", "elements",
    "contributors", "flags",     "reserved",  "codes", "abort",   "exact", "sparse"};

// Workers drop a PENDING with a range of no ranks, or with ranks beyond the largest world. The core
// finds that later than other errors.
std::string verdict_on(const Bytes& bytes) {
  core::Packet packet;
  const core::Malformed why = core::parse(bytes, packet);
  if (why != core::Malformed::none) return kVerdicts[static_cast<std::size_t>(why)];
  const bool is_pending = packet.header.kind == core::Kind::pending;
  return is_pending && !core::read_missing(packet, 1 << 16) ? "missing" : "none";
}

std::string plain_hex(const Bytes& bytes) {
  std::string text = hex(bytes);
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

json ranges_of(const std::vector<Ranks>& ranges) {
  json list = json::array();
  for (const Ranks& range : ranges) list.push_back({range.first, range.count});
  return list;
}

// Whether the bytes are exactly what the fields say.
bool is_as_said(const PacketText& packet) {
  return packet.raw.empty() && packet.cut == 0 && packet.extend == 0 && packet.patches.empty();
}

json fields_of(const PacketText& packet) {
  const Signature& signature = packet.signature;
  return {{"kind", kind_name(packet.kind)},
          {"version", packet.version},
          {"flags", packet.flags},
          {"worker", packet.worker},
          {"job", packet.job},
          {"slot", packet.slot},
          {"epoch", packet.epoch},
          {"round", packet.round},
          {"elements", signature.elements.value_or(signature.last_elements)},
          {"data_type", signature.dtype},
          {"format", signature.format},
          {"collective", signature.collective},
          {"reduction", signature.reduction},
          {"shape", signature.shape.value_or(signature.elements.value_or(signature.last_elements))},
          {"ranks", ranges_of(packet.ranks)},
          {"count", packet.count ? json(*packet.count) : json()},
          {"weight", packet.weight ? json(*packet.weight) : json()},
          {"digest", packet.digest ? json(*packet.digest) : json()},
          {"values", packet.elements},
          {"codes", packet.codes},
          {"high_codes", packet.high_codes},
          {"plus", packet.plus},
          {"minus", packet.minus},
          {"held", packet.held},
          {"quarters", packet.quarters},
          {"part", packet.part},
          {"parts", packet.parts},
          {"second", packet.second},
          {"second_at", packet.second_at},
          {"first_row", packet.first_row},
          {"rows", packet.rows},
          {"missing", ranges_of(packet.missing)},
          {"missing_bytes", packet.missing_bytes},
          {"reason", packet.reason},
          {"rank", packet.rank},
          {"other", packet.other},
          {"rank_signature", plain_hex(packet.rank_signature)},
          {"other_signature", plain_hex(packet.other_signature)},
          {"tag", plain_hex(packet.tag)}};
}

// Returns a copy in which a few bits or the length differ.
Bytes damaged(const Bytes& original, base::Prng& prng) {
  Bytes bytes = original;
  const auto place = [&](std::size_t bound) { return static_cast<std::size_t>(prng.below(bound)); };
  switch (prng.below(4)) {
    case 0: bytes.resize(place(bytes.size())); break;
    case 1: bytes.resize(bytes.size() + 1 + place(12)); break;
    case 2:  // most errors are near the front
      bytes[place(std::min<std::size_t>(bytes.size(), 48))] ^= std::byte{1} << place(8);
      break;
    default: bytes[place(bytes.size())] = static_cast<std::byte>(prng.next()); break;
  }
  return bytes;
}

void print(json&& line) { std::puts(line.dump().c_str()); }

void run(const VectorCase& vector) {
  SoftwarePlane plane(&core::scalar_arithmetic());
  PlaneRunner packets(plane);
  WorkerRunner workers;
  packets.configure({vector.where, {"job"}});
  for (const Step& step : vector.steps) {
    if (step.tokens.at(0) == "job") {
      packets.configure(step);
    } else if (is_worker_step(step)) {
      workers.run(step);
    } else if (!is_number_step(step)) {
      packets.run(step);
    }
  }
}

void print_all() {
  base::Prng prng(kSeed);
  std::string where;
  listen_to_packets([&](const PacketText& packet, const Bytes& bytes) {
    json line = {{"of", where}, {"bytes", plain_hex(bytes)}, {"verdict", verdict_on(bytes)}};
    if (is_as_said(packet)) line["fields"] = fields_of(packet);
    print(std::move(line));
    for (int i = 0; i < kDamagedCopies && !bytes.empty(); ++i) {
      const Bytes copy = damaged(bytes, prng);
      print(
          {{"of", where + ", damaged"}, {"bytes", plain_hex(copy)}, {"verdict", verdict_on(copy)}});
    }
  });
  for (const VectorCase& vector : all_vectors()) {
    where = vector.where + ": " + vector.title;
    run(vector);
  }
}

}  // namespace
}  // namespace infold::conformance

int main() {
  try {
    infold::conformance::print_all();
  } catch (const infold::conformance::VectorError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
