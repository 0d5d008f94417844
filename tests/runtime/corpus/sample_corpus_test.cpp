#include "runtime/corpus/sample_corpus.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::runtime {
namespace {

/// Utterance i has 100 + i samples, text "i" and labels {i}.
Corpus corpus_of(int utterances) {
  std::vector<AudioLength> lengths;
  for (int i = 0; i < utterances; ++i) lengths.push_back({100 + i, 16000});
  Corpus corpus;
  corpus.lengths = lengths;
  corpus.audio = [lengths](std::uint64_t id) { return AudioSource{{}, lengths.at(id)}; };
  corpus.text = [](std::uint64_t id) { return std::to_string(id); };
  corpus.labels = [](std::uint64_t id) {
    return std::vector<std::int32_t>{static_cast<std::int32_t>(id)};
  };
  corpus.hash = 7;
  corpus.skipped = 3;
  return corpus;
}

TEST(SampleCorpus, HoldsUtterancesWithAllThatIsTheirs) {
  const Corpus sample = sample_corpus(corpus_of(1001), 37);
  ASSERT_EQ(sample.size(), 37u);
  EXPECT_EQ(sample.skipped, 3);
  std::int64_t before = -1;
  for (std::uint64_t id = 0; id < sample.size(); ++id) {
    const std::int64_t whole = sample.lengths[id].samples - 100;
    EXPECT_GT(whole, before);  // once each, in the corpus's order
    before = whole;
    EXPECT_EQ(sample.audio(id).length, sample.lengths[id]);
    EXPECT_EQ(sample.text(id), std::to_string(whole));
    EXPECT_EQ(sample.labels(id), std::vector<std::int32_t>{static_cast<std::int32_t>(whole)});
  }
}

TEST(SampleCorpus, IsOfTheWholeCorpus) {
  // Of 20 blocks of 50, 200 of 1,000 that are drawn leave none out but with a chance of 20 ×
  // 0.8^50.
  const Corpus sample = sample_corpus(corpus_of(1000), 200);
  std::set<std::int64_t> blocks;
  for (std::uint64_t id = 0; id < sample.size(); ++id)
    blocks.insert((sample.lengths[id].samples - 100) / 50);
  EXPECT_EQ(blocks.size(), 20u);
}

TEST(SampleCorpus, IsTheSameEachTime) {
  const Corpus one = sample_corpus(corpus_of(1001), 37), two = sample_corpus(corpus_of(1001), 37);
  EXPECT_EQ(one.lengths, two.lengths);
  EXPECT_EQ(one.hash, two.hash);
}

TEST(SampleCorpus, HasAnotherHashWithAnotherNumber) {
  const std::set<std::uint64_t> hashes{corpus_of(101).hash, sample_corpus(corpus_of(101), 7).hash,
                                       sample_corpus(corpus_of(101), 8).hash};
  EXPECT_EQ(hashes.size(), 3u);
}

TEST(SampleCorpus, MayBeAllOfThem) {
  for (const std::int64_t utterances : {0, 101, 5000}) {
    const Corpus all = sample_corpus(corpus_of(101), utterances);
    EXPECT_EQ(all.lengths, corpus_of(101).lengths);
    EXPECT_EQ(all.hash, 7u);
  }
}

/// Ranks without a loss know no texts, those that read no audio no recordings.
TEST(SampleCorpus, LeavesOutWhatARankDoesNotRead) {
  Corpus corpus = corpus_of(11);
  corpus.text = {};
  corpus.labels = {};
  corpus.audio = {};
  const Corpus sample = sample_corpus(corpus, 5);
  EXPECT_FALSE(sample.text || sample.labels || sample.audio);
}

}  // namespace
}  // namespace penstock::runtime
