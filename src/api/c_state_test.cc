// SPDX-License-Identifier: Apache-2.0
//
// Tests what a C program learns of an exception.
#include "api/c_state.h"

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace infold::c_abi {
namespace {

using ::testing::HasSubstr;

template <typename Exception>
infold_code thrown(const Exception& exception) {
  last_error() = {Code::mismatch, "an earlier error", 3, ""};
  return guarded([&]() -> infold_code { throw exception; });
}

TEST(CState, MissingMemoryIsSaidToBeMissing) {
  EXPECT_EQ(thrown(std::bad_alloc()), INFOLD_ERROR_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(infold_error_message(), "out of memory");
  EXPECT_EQ(infold_error_rank(), -1);
  last_error() = {};
  const infold_code code = guarded([]() -> infold_code {
    std::vector<int>().reserve(~std::size_t{0});
    return INFOLD_OK;
  });
  EXPECT_EQ(code, INFOLD_ERROR_RESOURCE_EXHAUSTED);
  EXPECT_STREQ(infold_error_message(), "out of memory");
}

TEST(CState, AThreadThatCannotStartIsNamed) {
  const auto error = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_EQ(thrown(std::system_error(error, "no thread")), INFOLD_ERROR_RESOURCE_EXHAUSTED);
  EXPECT_THAT(infold_error_message(), HasSubstr("the system refuses a resource: no thread"));
}

TEST(CState, AnotherExceptionKeepsItsText) {
  EXPECT_EQ(thrown(std::logic_error("seven is not even")), INFOLD_ERROR_UNSUPPORTED);
  EXPECT_THAT(infold_error_message(), HasSubstr("a fault in infold"));
  EXPECT_THAT(infold_error_message(), HasSubstr("seven is not even"));
  EXPECT_EQ(infold_error_rank(), -1);
}

}  // namespace
}  // namespace infold::c_abi
