// SPDX-License-Identifier: Apache-2.0
//
// Runs the packet steps of a vector against a plane: one packet in, the exact packets out.
#pragma once

#include "tests/conformance/planes/plane.h"
#include "tests/conformance/text/vector_file.h"

namespace infold::conformance {

class PlaneRunner {
 public:
  explicit PlaneRunner(Plane& plane) : plane_(plane) {}

  // Reads a `job` line. Returns why the plane cannot run such a job, or an empty text if it can.
  std::string configure(const Step& step);
  // Runs a packet line. Throws VectorError on the first difference.
  void run(const Step& step);

 private:
  struct Expected {
    Outgoing packet;
    std::string words;
  };

  PacketText read_injected(Cursor& cursor);
  Expected read_expected(Cursor& cursor, const PacketText& injected) const;
  void set_defaults(PacketText& packet, Outgoing::To to) const;
  void compare(const Step& step, std::vector<Expected> expected);
  std::vector<Ranks> all_ranks() const;
  // Replaces a packet to all by one to each worker, because some planes send these.
  std::vector<Outgoing> one_by_one(const std::vector<Outgoing>& packets) const;

  Plane& plane_;
  PlaneJob job_;
  Plane::From from_ = Plane::From::worker;
  Signature signature_;  // the packet before, for fields that a line leaves out
};

}  // namespace infold::conformance
