#include "runtime/corpus/derived_corpus.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace penstock::runtime {
namespace {

/// So many utterances of 16,000 · `seconds` samples and some more each, with texts "NAME0", ….
Corpus corpus_of(const std::string& name, int utterances, int seconds, std::uint64_t hash) {
  std::vector<AudioLength> lengths;
  for (int i = 0; i < utterances; ++i) lengths.push_back({16000 * seconds + i, 16000});
  Corpus corpus;
  corpus.lengths = lengths;
  corpus.audio = [=](std::uint64_t id) { return AudioSource{name, lengths.at(id)}; };
  corpus.text = [=](std::uint64_t id) { return name + std::to_string(id); };
  corpus.labels = [=](std::uint64_t id) {
    return std::vector<std::int32_t>{seconds, static_cast<std::int32_t>(id)};
  };
  corpus.where = [=](std::uint64_t id) { return name + ":" + std::to_string(id + 1); };
  corpus.prompt = [=](std::uint64_t id) { return seconds + static_cast<std::int32_t>(id); };
  corpus.hash = hash;
  corpus.too_short = 1;
  corpus.too_long = 2;
  corpus.skipped = 3;
  return corpus;
}

/// a has 5 utterances of 2 s, b 3 of 4 s, c one of 9 s.
Corpus load(const std::string& manifest) {
  if (manifest == "a") return corpus_of("a", 5, 2, 70);
  if (manifest == "b") return corpus_of("b", 3, 4, 71);
  return corpus_of("c", 1, 9, 72);
}

Corpus mixed(std::vector<WeightedManifest> train) {
  configs::DataConfig data;
  data.train = std::move(train);
  return mixed_corpus(data, load);
}

TEST(MixedCorpus, HoldsAllThatIsTheUtterances) {
  const Corpus all = mixed({{"a"}, {"b", 2}, {"c", 2}});
  ASSERT_EQ(all.size(), 9u);
  EXPECT_EQ(all.too_short, 3);
  EXPECT_EQ(all.too_long, 6);
  EXPECT_EQ(all.skipped, 9);
  std::uint64_t id = 0;
  for (const char* manifest : {"a", "b", "c"}) {
    const Corpus one = load(manifest);
    for (std::uint64_t u = 0; u < one.size(); ++u, ++id) {
      EXPECT_EQ(all.lengths[id], one.lengths[u]);
      EXPECT_EQ(all.audio(id).audio, manifest);
      EXPECT_EQ(all.audio(id).length, one.lengths[u]);
      EXPECT_EQ(all.text(id), one.text(u));
      EXPECT_EQ(all.labels(id), one.labels(u));
      EXPECT_EQ(all.where(id), one.where(u));
      EXPECT_EQ(all.prompt(id), one.prompt(u));
      EXPECT_EQ(all.name(id), std::string(manifest) + ": utterance " + std::to_string(u));
    }
  }
}

TEST(JoinedCorpus, HoldsEachUtteranceOnce) {
  const Corpus all = joined_corpus({{"a"}, {"b"}}, load);
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all.draws(), 8u);
  ASSERT_EQ(all.parts.size(), 2u);
  EXPECT_EQ(all.parts[1].manifest, "b");
  EXPECT_EQ(all.parts[1].utterances, 3u);
  EXPECT_EQ(all.text(6), "b1");
  EXPECT_EQ(all.name(6), "b: utterance 1");
  EXPECT_NE(all.hash, joined_corpus({{"b"}, {"a"}}, load).hash);
  EXPECT_EQ(joined_corpus({{"b"}}, load).hash, load("b").hash);
  EXPECT_TRUE(joined_corpus({{"b"}}, load).parts.empty());
}

TEST(MixedCorpus, OfOneManifestIsThatCorpus) {
  const Corpus one = mixed({{"b", 7}});
  EXPECT_EQ(one.hash, 71u);
  EXPECT_TRUE(one.mixture.empty());
  EXPECT_EQ(one.draws(), 3u);
  EXPECT_EQ(one.name(2), "utterance 2");
  EXPECT_EQ(describe_mixture(one), "");
}

TEST(MixedCorpus, HashFollowsFromManifestsAndOrder) {
  const std::set<std::uint64_t> hashes = {mixed({{"a"}, {"b"}}).hash, mixed({{"b"}, {"a"}}).hash,
                                          mixed({{"a"}, {"c"}}).hash,
                                          mixed({{"a"}, {"b"}, {"c"}}).hash, mixed({{"a"}}).hash};
  EXPECT_EQ(hashes.size(), 5u);
  EXPECT_EQ(mixed({{"a"}, {"b", 3}}).hash, mixed({{"a"}, {"b"}}).hash);
}

TEST(MixedCorpus, TellsWhatAnEpochHolds) {
  const Corpus all = mixed({{"a"}, {"b", 2}});
  // The shares of 22 s are 10 · 22 / 34 and 24 · 22 / 34.
  EXPECT_EQ(describe_mixture(all), "a 0.002778 h × 0.647 (29.4 %), b 0.003333 h × 1.29 (70.6 %)");
  EXPECT_EQ(all.draws(), 7u);  // 5 · 0.647 + 3 · 1.29
}

/// Ranks without a loss know no texts, those that read no audio no recordings.
TEST(MixedCorpus, LeavesOutWhatARankDoesNotRead) {
  configs::DataConfig data;
  data.train = {{"a"}, {"b"}};
  const Corpus all = mixed_corpus(data, [](const std::string& manifest) {
    Corpus corpus = load(manifest);
    corpus.text = {};
    corpus.labels = {};
    return corpus;
  });
  EXPECT_FALSE(all.text || all.labels);
  EXPECT_EQ(all.audio(6).audio, "b");
}

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

TEST(SampleCorpus, CountsWhatItTookOfEachPart) {
  const auto large = [](const std::string& manifest) {
    return corpus_of(manifest, manifest == "0" ? 0 : 300, 1, 7);
  };
  const Corpus sample = sample_corpus(joined_corpus({{"a"}, {"0"}, {"b"}}, large), 50);
  std::size_t of_a = 0;
  for (std::uint64_t id = 0; id < sample.size(); ++id) of_a += sample.text(id)[0] == 'a';
  ASSERT_EQ(sample.parts.size(), 3u);
  EXPECT_GT(of_a, 0u);
  EXPECT_LT(of_a, 50u);
  EXPECT_EQ(sample.parts[0].utterances, of_a);
  EXPECT_EQ(sample.parts[1].utterances, 0u);
  EXPECT_EQ(sample.parts[2].utterances, 50 - of_a);
  // A name counts within the manifest, as the text does.
  EXPECT_EQ(sample.name(49), "b: utterance " + sample.text(49).substr(1));
  EXPECT_EQ(sample.name(0), "a: utterance " + sample.text(0).substr(1));
}

TEST(SampleCorpus, IsOfTheWholeCorpus) {
  // 200 draws of 1,000 leave out none of 20 blocks of 50 but with a chance of 20 ×
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
