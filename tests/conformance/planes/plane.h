// SPDX-License-Identifier: Apache-2.0
//
// A plane is anything that aggregates: the software switch, an XDP program, a P4 pipeline. Vectors
// see a plane only through packets, so the same text judges all planes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/conformance/text/packet_text.h"

namespace infold::conformance {

// The `job` line of a case.
struct PlaneJob {
  std::uint16_t job = 7;
  std::uint32_t epoch = 3;
  std::uint16_t slots = 8;
  std::vector<Ranks> workers = {{0, 1}, {1, 1}};  // the ranks each direct worker speaks for
  std::uint32_t world = 2;                        // ranks in the whole job
  std::optional<std::uint8_t> parent_worker;      // our number at the parent, unless at the root
  std::uint32_t datagram_bytes_max = 1472;
  std::uint32_t elements_max = INFOLD_ELEMENTS_MAX;
  bool sparse = false;        // ranks have been told that this plane takes such packets
  bool native = false;        // contributions may be of format native
  bool pending_bits = false;  // PENDING names the missing ranks as a set of bits
  bool brief = false;         // roots of broadcasts get results without elements
  bool ports = false;         // answers name the worker's port
};

struct Outgoing {
  enum class To : std::uint8_t { worker, all_workers, parent };
  To to = To::worker;
  std::uint8_t worker = 0;
  std::vector<std::byte> datagram;
  std::uint16_t port = 1;  // which port of the worker, if the job has ports
};

class Plane {
 public:
  virtual ~Plane() = default;

  // Starts the job afresh. Returns why this plane cannot run such a job, or an empty text if it
  // can.
  virtual std::string configure(const PlaneJob& job) = 0;
  // Whether a packet comes from the address of the workers' connections, from the parent's, or from
  // neither.
  enum class From : std::uint8_t { worker, parent, elsewhere };
  // `port`: which port of the worker, if the job has ports.
  virtual void inject(std::span<const std::byte> datagram, From from = From::worker,
                      std::uint16_t port = 1) = 0;
  // The packets that the last datagram made it send, in any order. A multicast may be one packet or
  // one for each worker; if the job has ports, it is one for each worker.
  virtual std::vector<Outgoing> collect() = 0;
  // Why the last datagram was dropped, in the words of the specification. It is "" if the datagram
  // was not dropped, and nothing if the plane does not say.
  virtual std::optional<std::string> drop_reason() = 0;
};

}  // namespace infold::conformance
