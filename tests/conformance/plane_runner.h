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

  // A `job` line. Returns why the plane cannot run such a job, empty if it can.
  std::string configure(const Step& step);
  // A packet line. Throws VectorError on the first difference.
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
  // For planes that send one packet to each worker in place of one to all.
  std::vector<Outgoing> one_by_one(const std::vector<Outgoing>& packets) const;

  Plane& plane_;
  PlaneJob job_;
  Plane::From from_ = Plane::From::worker;
  Signature signature_;  // the packet before: a line takes from it the fields that it leaves out
};

}  // namespace infold::conformance
