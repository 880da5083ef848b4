// SPDX-License-Identifier: Apache-2.0
#include "status/prometheus.h"

#include <gtest/gtest.h>

namespace infold::status {
namespace {

TEST(PrometheusText, HasALineForEachSampleBelowWhatItIs) {
  PrometheusText text;
  text.begin(Metric::counter, "a_total", "What a is.");
  text.sample({{"why", "one"}, {"job", "x"}}, 18446744073709551615U);
  text.sample({{"why", "two"}}, 0);
  text.single(Metric::gauge, "b_bytes", "What b is.", 7);
  EXPECT_EQ(text.take(),
            "# HELP a_total What a is.\n"
            "# TYPE a_total counter\n"
            "a_total{why=\"one\",job=\"x\"} 18446744073709551615\n"
            "a_total{why=\"two\"} 0\n"
            "# HELP b_bytes What b is.\n"
            "# TYPE b_bytes gauge\n"
            "b_bytes 7\n");
}

// A rank chooses the job's name, which must not be able to forge lines.
TEST(PrometheusText, EscapesLabels) {
  PrometheusText text;
  text.begin(Metric::gauge, "a", "b");
  text.sample({{"job", "\"} 1\nb{x=\"\\"}}, 2);
  EXPECT_EQ(text.take(), "# HELP a b\n# TYPE a gauge\na{job=\"\\\"} 1\\nb{x=\\\"\\\\\"} 2\n");
}

}  // namespace
}  // namespace infold::status
