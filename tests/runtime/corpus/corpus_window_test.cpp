#include "runtime/corpus/corpus_window.h"

#include <gtest/gtest.h>

#include "runtime/data/remote/remote_files.h"

namespace penstock::runtime {
namespace {

std::vector<std::size_t> ends_of(const WindowBounds& bounds, const std::vector<double>& seconds,
                                 std::size_t from = 0) {
  std::vector<std::size_t> ends;
  for (std::size_t first = from; first < seconds.size(); first = ends.back())
    ends.push_back(
        window_end(bounds, {first, seconds.size()}, [&](std::size_t i) { return seconds[i]; }));
  return ends;
}

using Ends = std::vector<std::size_t>;

TEST(CorpusWindow, EndsByNumberOrByAudio) {
  EXPECT_EQ(ends_of({3}, {1, 1, 1, 1, 1, 1, 1}), (Ends{3, 6, 7}));
  EXPECT_EQ(ends_of({3}, {12, 12, 12, 12.5, 12, 12, 12}), (Ends{3, 5, 7}));
  EXPECT_EQ(ends_of({3}, {100, 1, 36, 0, 5}), (Ends{1, 2, 4, 5}));  // 100 s alone exceed it
  EXPECT_EQ(ends_of({1}, {1, 1}), (Ends{1, 2}));
  EXPECT_EQ(ends_of({5}, {}), Ends{});
  EXPECT_EQ(window_end({5}, {0, 0}, {}), 0u);
}

// So a run that goes on after a window makes the same windows.
TEST(CorpusWindow, FollowsFromWhatLiesBehindItsStart) {
  const std::vector<double> seconds = {3, 30, 5, 14, 14, 14, 1, 1, 1, 1, 40, 0, 7};
  const Ends whole = ends_of({3}, seconds);
  ASSERT_GT(whole.size(), 4u);
  for (std::size_t w = 0; w + 1 < whole.size(); ++w)
    EXPECT_EQ(ends_of({3}, seconds, whole[w]), Ends(whole.begin() + w + 1, whole.end()));
}

// Without them, a window of recordings on servers would depend on what the cache still holds.
TEST(CorpusWindow, KeepsWhatOpensItsFiles) {
  configs::DataConfig data;
  data.train = {{"s3://bucket/train.jsonl"}};
  Corpus corpus;
  corpus.lengths = {{100, 10}, {200, 10}, {300, 10}};
  corpus.files = remote_files(data);
  ASSERT_NE(corpus.files, nullptr);
  EXPECT_EQ(window_of(corpus, 1, 3).files, corpus.files);
  EXPECT_EQ(select_utterances(corpus, {2, 0}).lengths[0].samples, 300);
}

TEST(CorpusWindow, CountsIdsFromItsStart) {
  Corpus corpus;
  corpus.lengths = {{100, 10}, {200, 10}, {300, 10}, {400, 10}};
  corpus.audio = [](std::uint64_t id) { return AudioSource{std::to_string(id), {1, 1}}; };
  corpus.text = [](std::uint64_t id) { return "text " + std::to_string(id); };
  corpus.skipped = 3;
  const Corpus window = window_of(corpus, 1, 3);
  ASSERT_EQ(window.size(), 2u);
  EXPECT_EQ(window.lengths[1].samples, 300);
  EXPECT_EQ(window.audio(0).audio, "1");
  EXPECT_EQ(window.text(1), "text 2");
  EXPECT_FALSE(window.labels);
  EXPECT_EQ(window.skipped, 0);
}

}  // namespace
}  // namespace penstock::runtime
