#include "layers/nn/text_start.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "layers/cpu/cpu_backend.h"
#include "tests/layers/losses/labels.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::layers {
namespace {

using Ids = std::vector<std::int32_t>;

const Ids kPrefix = {9}, kUsual = {3, 1}, kOfLanguages = {4, 1, 5, 6};

TextStart start() { return {kPrefix, kUsual, kOfLanguages, 2}; }

/// Returns the ids of three utterances, of which the second has no label.
Ids read_ids(Targets* targets) {
  const auto backend = make_cpu_backend(1);
  const auto stream = backend->make_stream();
  const std::vector<std::int64_t> lengths = {4, 2, 3};
  Context context{*backend, *stream, Mode::evaluate, lengths};
  context.targets = targets;
  return start().ids(context, "text");
}

TEST(TextStart, CountsLanguagesAndRows) {
  EXPECT_EQ(start().rows(), 4);
  EXPECT_EQ(start().languages(), 2);
  EXPECT_EQ((TextStart{{}, kUsual}.languages()), 0);
  EXPECT_EQ(TextStart{}.languages(), 0);
}

TEST(TextStart, GivesEachUtteranceItsLanguagesPrompt) {
  Labels labels({{7, 8}, {}, {7}}, 1);
  EXPECT_EQ(read_ids(nullptr), (Ids{9, 3, 1, 2, 9, 3, 1, 2, 9, 3, 1, 2}));
  EXPECT_EQ(read_ids(&labels.targets), (Ids{9, 3, 1, 2, 7, 8, 9, 3, 1, 2, 9, 3, 1, 2, 7}));
  const Ids numbers = {2, 0, 1};
  labels.targets.prompts = numbers;
  EXPECT_EQ(read_ids(&labels.targets), (Ids{9, 5, 6, 2, 7, 8, 9, 3, 1, 2, 9, 4, 1, 2, 7}));
}

TEST(TextStart, RefusesNumbersWithoutAPrompt) {
  Labels labels({{7, 8}, {}, {7}}, 1);
  for (const Ids& numbers : {Ids{0, 0, 3}, Ids{0, -1, 0}, Ids{0, 0}}) {
    labels.targets.prompts = numbers;
    EXPECT_THROW((void)read_ids(&labels.targets), ShapeError);
  }
}

TEST(TextStart, RefusesIdsThatAreNoRows) {
  start().check(10, "text");
  EXPECT_EQ(test::message_of<ShapeError>([] { start().check(9, "text"); }),
            "text begins texts with id 9; its rows are 0 to 8");
  TextStart odd = start();
  odd.prompts = odd.prompts.first(3);
  EXPECT_EQ(test::message_of<ShapeError>([&] { odd.check(10, "text"); }),
            "text has 3 ids of languages, which are no prompts of 2 each");
  odd.prompt = {};
  EXPECT_THROW(odd.check(10, "text"), ShapeError);
}

}  // namespace
}  // namespace penstock::layers
