// SPDX-License-Identifier: Apache-2.0
//
// Tests what the reader of models accepts, its message for each fault, and its limits.
#include "study/mix/program/model_list.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "study/mix/jobs/draw_jobs.h"

namespace infold::mix {
namespace {

TEST(ModelList, ReadsModelsInTheOrderOfTheText) {
  const auto own = read_models(
      "# a comment\r\n"
      "\n"
      " Two layers ,\t1000, 250, 500 , 0   # behind a layer\r\n"
      "two LAYERS,4000000000,0.5,1e2,8\n"
      "one,1,0,0,0");
  ASSERT_TRUE(own) << own.error().reason;
  ASSERT_EQ(own->size(), 2U);
  const std::vector<Model> models = views_of(*own);
  EXPECT_STREQ(models[0].name, "Two layers");
  ASSERT_EQ(models[0].layers.size(), 2U);
  EXPECT_EQ(elements_of(models[0]), 4'000'001'000U);
  EXPECT_EQ(models[0].layers[0].forward_us, 250);
  EXPECT_EQ(models[0].layers[0].backward_us, 500);
  EXPECT_EQ(models[0].layers[0].update_us, 0);
  EXPECT_EQ(models[0].layers[1].forward_us, 0.5);
  EXPECT_EQ(models[0].layers[1].backward_us, 100);
  EXPECT_EQ(models[0].layers[1].update_us, 8);
  EXPECT_STREQ(models[1].name, "one");
  EXPECT_EQ(elements_of(models[1]), 1U);
}

struct ModelFault {
  const char* text;
  std::size_t line;
  const char* says;
};

constexpr ModelFault kModelFaults[] = {
    {"", 0, "the file has no model; write a line for each layer"},
    {"# nothing\n\n", 0, "the file has no model"},
    {"a, 1, 2, 3\n", 1, "4 fields, not 5: model, elements, forward us, backward us, update us"},
    {"a, 1, 2, 3, 4\na, 1, 2, 3, 4, 5\n", 2, "6 fields, not 5"},
    {", 1, 2, 3, 4\n", 1, "model '': a name must have 1 to 32 ASCII characters"},
    {"a name that is longer than a table, 1, 2, 3, 4\n", 1, "a name must have 1 to 32"},
    {"\x1b[2J, 1, 2, 3, 4\n", 1, "model '?[2J': a name must have"},
    {"caf\xc3\xa9, 1, 2, 3, 4\n", 1, "model 'caf\?\?': a name must have"},
    {"a, 1, 2, 3, 4\nvgg-16, 1, 2, 3, 4\n", 2, "model 'vgg-16': infold has a model of this name"},
    {"a, 1, 2, 3, 4\nb, 1, 2, 3, 4\n\nA, 1, 2, 3, 4\n", 4, "'A' has layers above another model"},
    {"a, 0, 2, 3, 4\n", 1, "'0' elements: must be 1 to 4000000000"},
    {"a, 4000000001, 2, 3, 4\n", 1, "'4000000001' elements"},
    {"a, 99999999999999999999, 2, 3, 4\n", 1, "'99999999999999999999' elements"},
    {"a, 1.5, 2, 3, 4\n", 1, "'1.5' elements"},
    {"a, -1, 2, 3, 4\n", 1, "'-1' elements"},
    {"a, 1, -2, 3, 4\n", 1, "forward takes '-2': must be 0 to 100000000 microseconds"},
    {"a, 1, 2, nan, 4\n", 1, "backward takes 'nan'"},
    {"a, 1, 2, 3, inf\n", 1, "update takes 'inf'"},
    {"a, 1, 2, 3, 1e9\n", 1, "update takes '1e9'"},
    {"a, 1, 2, 3,\n", 1, "update takes ''"},
    {"a, 1, 2, 3, 4 ms\n", 1, "update takes '4 ms'"},
    {"a, 1, 5e7, 4e7, 0\na, 1, 1e7, 1, 0\n", 2, "an iteration of model 'a' takes more than 100"},
};

TEST(ModelList, NamesTheLineAndTheFault) {
  for (const ModelFault& fault : kModelFaults) {
    const auto own = read_models(fault.text);
    ASSERT_FALSE(own) << fault.text;
    EXPECT_EQ(own.error().line, fault.line) << fault.text;
    EXPECT_NE(own.error().reason.find(fault.says), std::string::npos)
        << fault.text << " says " << own.error().reason;
  }
}

TEST(ModelList, TakesSoManyLayersAndModelsAndNotOneMore) {
  std::string layers;
  for (std::size_t i = 0; i < kLayersMax; ++i) layers += "a, 1, 2, 3, 4\n";
  EXPECT_TRUE(read_models(layers + "b, 1, 2, 3, 4\n"));
  const auto deep = read_models(layers + "a, 1, 2, 3, 4\n");
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().line, kLayersMax + 1);
  std::string text;
  for (std::size_t i = 0; i < kOwnModelsMax; ++i) text += fmt::format("m{}, 1, 2, 3, 4\n", i);
  EXPECT_TRUE(read_models(text));
  const auto many = read_models(text + "one more, 1, 2, 3, 4\n");
  ASSERT_FALSE(many);
  EXPECT_EQ(many.error().line, kOwnModelsMax + 1);
}

TEST(ModelList, JobsNameItsModels) {
  const auto own = read_models("mine, 1000, 250, 500, 20\n");
  ASSERT_TRUE(own);
  std::vector<Model> known = views_of(*own);
  known.insert(known.begin(), models().begin(), models().end());
  const std::string_view text = "0, MINE, 4, 1\n1, VGG-16, 4, 1\n";
  const auto jobs = read_jobs(text, known);
  ASSERT_TRUE(jobs) << jobs.error().reason;
  EXPECT_EQ((*jobs)[0].model, &known.back());
  EXPECT_STREQ((*jobs)[1].model->name, "VGG-16");
  EXPECT_EQ(read_jobs(write_jobs(*jobs), known).value(), *jobs);
  EXPECT_FALSE(read_jobs(text));
  const auto unknown = read_jobs("0, other, 4, 1\n", known);
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().reason.find("BERT-large, mine"), std::string::npos);
}

TEST(ModelList, JobsAreDrawnFromItsModels) {
  const auto own = read_models("a, 1000, 250, 500, 20\nb, 1000, 250, 500, 20\n");
  ASSERT_TRUE(own);
  const std::vector<Model> models = views_of(*own);
  std::vector<int> of_model(models.size());
  for (const JobSpec& job : draw_jobs({.models = models})) {
    ++of_model.at(static_cast<std::size_t>(job.model - models.data()));
  }
  EXPECT_GT(of_model[0], 10);
  EXPECT_GT(of_model[1], 10);
}

}  // namespace
}  // namespace infold::mix
