// SPDX-License-Identifier: Apache-2.0
#include "rank/session/join_error.h"

#include <gtest/gtest.h>

namespace infold::rank {
namespace {

using join::RefusalReason;

TEST(JoinError, ARefusalBecomesAnErrorThatSaysWhatToDo) {
  const Error error = error_of({RefusalReason::mismatch, "rank 1 has other sites", 1});
  EXPECT_EQ(error.code, Code::mismatch);
  EXPECT_EQ(error.message, "join: rank 1 has other sites");
  EXPECT_EQ(error.rank, 1);
  EXPECT_EQ(error_of({RefusalReason::full, "", -1}).code, Code::resource_exhausted);
  EXPECT_EQ(error_of({RefusalReason::too_late, "", -1}).code, Code::deadline_exceeded);
  EXPECT_EQ(error_of({RefusalReason::given_up, "", -1}).code, Code::cancelled);
  EXPECT_EQ(error_of({RefusalReason::in_use, "", -1}).code, Code::unavailable);
}

// A switch, or another rank through it, writes the text of a refusal.
TEST(JoinError, NoTextOfOthersCommandsATerminalOrReordersALine) {
  EXPECT_EQ(error_of({RefusalReason::full, "job a\u009b31m\u202eb is full\x1b[2J", -1}).message,
            "join: job a?31m?b is full?[2J");
}

TEST(JoinError, OtherRanksHearWhoseErrorItIs) {
  const Error narrow = unavailable(
      "10.0.0.1:7700", base::Error{base::Code::unavailable, "path", "carries no full packets"});
  EXPECT_EQ(narrow.message, "join: 10.0.0.1:7700 carries no full packets");
  const join::Refusal refusal = refusal_of(narrow, 3);
  EXPECT_EQ(refusal.message, "rank 3: 10.0.0.1:7700 carries no full packets");
  EXPECT_EQ(refusal.rank, 3);
  EXPECT_EQ(refusal.reason, RefusalReason::stopping);
  EXPECT_EQ(refusal_of({Code::mismatch, "another text", -1, ""}, 0).message,
            "rank 0: another text");
  EXPECT_EQ(refusal_of({Code::mismatch, "", -1, ""}, 0).reason, RefusalReason::mismatch);
}

}  // namespace
}  // namespace infold::rank
