// SPDX-License-Identifier: Apache-2.0
//
// Tests differences, the verdict of a report, and the catalogue.
#include "study/reproduce/report.h"

#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "study/reproduce/catalogue.h"

namespace infold::reproduce {
namespace {

TEST(Report, ADifferenceNeedsAFigureOfTheirs) {
  EXPECT_DOUBLE_EQ(*difference({"rate", "times", Basis::published, 2.0, 3.0, ""}), 0.5);
  EXPECT_DOUBLE_EQ(*difference({"rate", "times", Basis::formula, 4.0, 3.0, ""}), -0.25);
  EXPECT_FALSE(difference({"rate", "times", Basis::none, 2.0, 3.0, ""}));
  EXPECT_FALSE(difference({"rate", "times", Basis::published, 0.0, 3.0, ""}));
}

TEST(Report, WholeMiBAreNamedAsSuch) {
  EXPECT_EQ(size_text(100 << 20), "100 MiB");
  EXPECT_EQ(size_text(100'000'000), "100 MB");
  EXPECT_EQ(size_text(2'560'000), "2.56 MB");
  EXPECT_EQ(size_text(0), "0 MB");
}

TEST(Report, AMissedTargetOrAFaultIsNotGood) {
  Report report;
  report.targets = {{"first", true}};
  EXPECT_TRUE(report.is_good());
  report.targets.push_back({"second", false});
  EXPECT_FALSE(report.is_good());
  report.targets.pop_back();
  report.wrong = {"a rank has a wrong sum"};
  EXPECT_FALSE(report.is_good());
}

TEST(Catalogue, FindsEachNameOnce) {
  std::set<std::string_view> names;
  for (const Reproduction& each : reproductions()) {
    EXPECT_TRUE(names.insert(each.name).second) << each.name;
    EXPECT_EQ(find_reproduction(each.name), &each);
    EXPECT_NE(std::string_view(each.name), "all");
  }
  EXPECT_EQ(find_reproduction("switchml"), nullptr);
  EXPECT_EQ(find_reproduction(""), nullptr);
}

}  // namespace
}  // namespace infold::reproduce
