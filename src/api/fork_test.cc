// SPDX-License-Identifier: Apache-2.0
//
// Tests forked children that use a communicator of their parent: their calls are refused, and the
// parent's sums are as if there were no child.
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include <infold/infold.h>

#include "api/joining/join_testing.h"
#include "api/testing.h"

namespace infold {
namespace {

using testing::expect_done;
using ::testing::HasSubstr;
using testing::make_group;

// A child that hangs is killed by SIGALRM.
constexpr unsigned kPatienceSeconds = 60;

// Runs the body in a forked child, whose EXPECTs print. The child ends without the destructors of
// the test's objects, so the body destroys what it should destroy.
void in_child(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(kPatienceSeconds);
    body();
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

void expect_refused(const Result<Completion>& result) {
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Code::invalid_argument);
  EXPECT_THAT(result.error().message,
              HasSubstr("forked from process " + std::to_string(getppid())));
}

TEST(Fork, AChildsCallsAreRefusedAndEndNothing) {
  LocalGroup group = make_group({.world = 2});
  std::vector<std::int32_t> early(1000, 1);
  Handle in_flight = group[0].all_reduce(early);
  in_child([&] {
    std::vector<std::int32_t> tensor(1000, 100);
    expect_refused(group[0].all_reduce(tensor).wait());
    expect_refused(group[1].all_reduce_list(std::vector<MutableTensorView>{tensor}).wait());
    expect_refused(group[1].barrier().wait_for(std::chrono::hours(1)));
    expect_refused(in_flight.wait());
    expect_refused(in_flight.wait_for(std::chrono::hours(1)));
    EXPECT_TRUE(in_flight.test());
    in_flight.cancel();
    EXPECT_TRUE(group[0].failure().has_value());
    EXPECT_EQ(group[0].statistics().calls, 0U);
    EXPECT_EQ(group[1].rank(), 1);
    EXPECT_EQ(group[1].world(), 2);
    EXPECT_EQ(group.network().sent, 0U);
    in_flight = Handle();
    {
      const Communicator gone = std::move(group[0]);
    }
    group[1] = Communicator();
    {
      const LocalGroup gone = std::move(group);
    }
  });
  EXPECT_FALSE(in_flight.test());
  std::vector<std::int32_t> late(1000, 2);
  expect_done(group[1].all_reduce(late).wait(), 2);
  expect_done(in_flight.wait(), 2);
  EXPECT_EQ(early, std::vector<std::int32_t>(1000, 3));
  EXPECT_EQ(late, early);
}

TEST(Fork, AChildMayDestroyAGroupThatItsParentHasLeft) {
  LocalGroup group = make_group({.world = 2, .verify = true});
  group[0] = Communicator();
  group[1] = Communicator();
  in_child([&] { const LocalGroup gone = std::move(group); });
}

// The child has its parent's sockets, so a call of the child could reach the switch.
TEST(Fork, NothingOfAChildReachesTheSwitch) {
  const auto server = testing::start_switch("127.0.0.1:0");
  JoinOptions options = testing::options_of(0, 2);
  options.switches = {server->join_address().text()};
  std::latch has_forked(1);
  testing::run_job(2, options, [&](Communicator& communicator) {
    std::vector<float> tensor(5000, 1);
    ASSERT_TRUE(communicator.all_reduce(tensor).wait());
    if (communicator.rank() == 0) {
      in_child([&] {
        std::vector<float> other(5000, 100);
        expect_refused(communicator.all_reduce(other).wait());
        const Communicator gone = std::move(communicator);
      });
      has_forked.count_down();
    }
    has_forked.wait();
    for (int call = 0; call < 10; ++call) {
      std::fill(tensor.begin(), tensor.end(), 1.0F);
      const auto done = communicator.all_reduce(tensor).wait();
      ASSERT_TRUE(done.has_value()) << done.error().message;
      EXPECT_EQ(tensor, std::vector<float>(5000, 2));
    }
  });
}

TEST(Fork, TheCFunctionsRefuseAChildToo) {
  infold_local_group_options options = infold_local_group_options_default();
  options.world = 1;
  infold_communicator* communicator = nullptr;
  ASSERT_EQ(infold_local_group_create(&options, &communicator), INFOLD_OK);
  in_child([&] {
    infold_handle* handle = nullptr;
    EXPECT_EQ(infold_barrier(communicator, nullptr, &handle), INFOLD_OK);
    EXPECT_EQ(infold_test(handle), 1);
    EXPECT_EQ(infold_wait(handle, nullptr), INFOLD_ERROR_INVALID_ARGUMENT);
    EXPECT_THAT(infold_error_message(), HasSubstr("was forked from process"));
    infold_handle_destroy(handle);
    infold_communicator_destroy(communicator);
  });
  infold_handle* handle = nullptr;
  ASSERT_EQ(infold_barrier(communicator, nullptr, &handle), INFOLD_OK);
  EXPECT_EQ(infold_wait(handle, nullptr), INFOLD_OK);
  infold_handle_destroy(handle);
  infold_communicator_destroy(communicator);
}

}  // namespace
}  // namespace infold
