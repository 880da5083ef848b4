// SPDX-License-Identifier: Apache-2.0
//
// Runs every case of spec/vectors/*.vec. On the software plane each is a test of its own, with
// scalar and with vector arithmetic. The pipeline that only adds and the packet program run them as
// well. Run the test in the repository's root.
#include <algorithm>

#include <gtest/gtest.h>

#include "numeric/codec.h"
#include "tests/conformance/number_runner.h"
#include "tests/conformance/plane_runner.h"
#include "tests/conformance/planes/adder_plane.h"
#include "tests/conformance/planes/software_plane.h"
#include "tests/conformance/worker_runner.h"
#ifdef INFOLD_XDP
#include "tests/conformance/planes/xdp_plane.h"
#endif

namespace infold::conformance {

// gtest prints this beside a test's name.
void PrintTo(const VectorCase& vector, std::ostream* out) { *out << vector.where; }

namespace {

// Returns why the plane cannot run the case's job, or an empty text if it can.
std::string run_vector(const VectorCase& vector, Plane& plane) {
  PlaneRunner packets(plane);
  WorkerRunner workers;
  packets.configure({vector.where, {"job"}});
  for (const Step& step : vector.steps) {
    if (step.tokens.at(0) == "job") {
      const std::string refusal = packets.configure(step);
      if (!refusal.empty()) return step.where + ": " + refusal;
    } else if (is_number_step(step)) {
      run_number_step(step);
    } else if (is_worker_step(step)) {
      workers.run(step);
    } else {
      packets.run(step);
    }
  }
  return "";
}

class Conformance : public testing::TestWithParam<VectorCase> {};

TEST_P(Conformance, SoftwarePlane) {
  for (const core::Arithmetic* arithmetic : {&core::scalar_arithmetic(), &numeric::arithmetic()}) {
    SoftwarePlane plane(arithmetic);
    try {
      const std::string refusal = run_vector(GetParam(), plane);
      if (!refusal.empty()) GTEST_SKIP() << refusal;
    } catch (const VectorError& error) {
      FAIL() << error.what() << "\n  of: " << GetParam().title
             << "\n  repeat with: ctest --test-dir build/release -L conformance";
    }
  }
}

// Whether the case has formats that a pipeline that only adds cannot sum. Ranks do not send it such
// packets.
bool has_other_formats(const VectorCase& vector) {
  return std::ranges::any_of(vector.steps, [](const Step& step) {
    return std::ranges::any_of(step.tokens, [](const std::string& token) {
      return token.find("bfp") != std::string::npos || token.find("native") != std::string::npos ||
             token.find("i64") != std::string::npos;
    });
  });
}

// This is one test, because most cases have other formats, trees or SPARSE.
TEST(AdderPlane, RunsEveryVectorOfItsFormats) {
  std::size_t ran = 0;
  for (const VectorCase& vector : all_vectors()) {
    if (has_other_formats(vector)) continue;
    AdderPlane plane;
    try {
      ran += run_vector(vector, plane).empty() ? 1 : 0;
    } catch (const VectorError& error) {
      ADD_FAILURE() << error.what() << "\n  of: " << vector.title
                    << "\n  repeat with: ./dev test AdderPlane.RunsEveryVectorOfItsFormats";
    }
  }
  EXPECT_GE(ran, 84U);
}

#ifdef INFOLD_XDP
// A job's record tells ranks that the packet program does not sum such chunks.
bool has_native_f64(const VectorCase& vector) {
  return std::ranges::any_of(vector.steps, [](const Step& step) {
    return std::ranges::find(step.tokens, "f64/native") != step.tokens.end();
  });
}

// Runs the same cases on the program in the kernel, in one test, because loading takes a second. If
// frames cannot grow, the host's ingress writes the answers that are longer than their packets.
TEST(XdpPlane, RunsEveryVector) {
  std::size_t refused = 0;
  for (const bool grows : {true, false}) {
    std::string why_not;
    XdpPlane* const plane = XdpPlane::shared(&why_not, grows);
    ASSERT_FALSE(why_not.starts_with("refused")) << why_not;
    if (plane == nullptr) GTEST_SKIP() << why_not;
    for (const VectorCase& vector : all_vectors()) {
      if (has_native_f64(vector)) continue;
      plane->use_ipv6(!plane->uses_ipv6());
      try {
        const std::string refusal = run_vector(vector, *plane);
        const bool is_told = refusal.ends_with(kWholeChunksOnly) ||
                             refusal.ends_with(kRangesOnly) || refusal.ends_with(kNoNative);
        refused += refusal.empty() || is_told ? 0 : 1;
      } catch (const VectorError& error) {
        ADD_FAILURE() << error.what() << "\n  of: " << vector.title
                      << (grows ? "" : ", where frames do not grow")
                      << "\n  repeat with: ./dev test XdpPlane.RunsEveryVector";
      }
    }
    EXPECT_EQ(plane->went_up() == 0, grows);
  }
  // The only job that it may refuse has datagrams that are larger than a page.
  EXPECT_LE(refused, 2U);
}
#endif

std::string test_name(const testing::TestParamInfo<VectorCase>& info) {
  std::string name =
      info.param.rules.front() + "_" + info.param.title + "_" + std::to_string(info.index);
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(Vectors, Conformance, testing::ValuesIn(all_vectors()), test_name);

TEST(VectorFile, RefusesWhatItCannotRead) {
  EXPECT_THROW(parse_vectors("x", "worker 0 skip expect none\n"), VectorError);
  SoftwarePlane plane(nullptr);
  for (const char* line : {"worker 0 sikp expect none", "worker 0 add [1 2", "worker 0 add [1]",
                           "worker 0 add [1.5] expect none", "worker 0 add [1] expect nothing",
                           "worker x add [1] expect none"}) {
    const auto cases = parse_vectors("x", std::string("# R-001 bad\n") + line + "\n");
    EXPECT_THROW(run_vector(cases.at(0), plane), VectorError) << line;
  }
}

// A runner that cannot fail proves nothing.
TEST(VectorFile, SeesAWrongSum) {
  SoftwarePlane plane(nullptr);
  const auto cases = parse_vectors("x",
                                   "# R-030 wrong on purpose\n"
                                   "worker 0 add [1] expect none\n"
                                   "worker 1 add [1] expect all result [3]\n");
  EXPECT_THROW(run_vector(cases.at(0), plane), VectorError);
}

}  // namespace
}  // namespace infold::conformance
