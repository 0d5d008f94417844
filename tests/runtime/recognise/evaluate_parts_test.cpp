#include "runtime/recognise/evaluate_parts.h"

#include <gtest/gtest.h>

namespace penstock::runtime {
namespace {

TEST(EvaluateParts, MakesACorpusOfParts) {
  Corpus corpus;
  corpus.lengths = {{1000, 8000}, {2000, 16000}};
  corpus.audio = [](std::uint64_t id) {
    return id == 0 ? AudioSource{"a.wav", {1000, 8000}} : AudioSource{"b.wav", {2000, 16000}, 50};
  };
  corpus.prompt = [](std::uint64_t id) { return static_cast<std::int32_t>(7 + id); };
  const Corpus parts = corpus_of_parts(corpus, {{0, {0, 600}}, {0, {500, 500}}, {1, {1990, 10}}});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts.lengths[2], (AudioLength{10, 16000}));
  EXPECT_EQ(parts.audio(1).audio, "a.wav");
  EXPECT_EQ(parts.audio(1).first, 500);
  EXPECT_EQ(parts.audio(1).length, (AudioLength{500, 8000}));
  EXPECT_EQ(parts.audio(2).first, 2040);
  EXPECT_EQ(parts.prompt(2), 8);
  EXPECT_EQ(parts.labels, nullptr);
}

TEST(EvaluateParts, NamesARecordingThatFailsOnce) {
  const auto failures =
      failures_of_recordings({{1, "second"}, {3, "fourth"}, {4, "fifth"}}, {5, 5, 5, 9, 9});
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0].id, 5u);
  EXPECT_EQ(failures[0].why, "second");
  EXPECT_EQ(failures[1].id, 9u);
  EXPECT_EQ(failures[1].why, "fourth");
}

}  // namespace
}  // namespace penstock::runtime
