#include "runtime/corpus/label_needs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <string>

#include "base/error.h"
#include "layers/losses/ctc.h"
#include "runtime/corpus/filter_utterances.h"
#include "runtime/data/index/stream_hash.h"
#include "runtime/text/alphabet.h"
#include "runtime/text/tokenizer.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

constexpr std::size_t kTrailer = 24 + 4 * 8;  // bytes, of which the last 8 are the digest

/// A cache file that somebody else crafted, with a right digest, is found out and made anew.
TEST(LabelNeeds, AreFoundAnewWhereTheyAreCrafted) {
  const test::TemporaryFolder folder;
  CorpusOptions options;
  options.manifest = folder.path() / "train.jsonl";
  options.cache.path = folder.path() / "cache";
  options.labels_key = "a";
  options.loss = layers::ctc_loss();
  std::string lines;
  for (int i = 0; i < 7; ++i)
    lines += fmt::format("{{\"audio_filepath\": \"{}.wav\", \"text\": \"{}\"}}\n", i,
                         i == 3 ? "7" : std::string(static_cast<std::size_t>(i + 1), 'a'));
  test::write_file(options.manifest, lines);
  const UtteranceIndex index =
      find_index({.manifest = options.manifest, .cache = options.cache},
                 [](std::span<const RecordingQuery> queries) {
                   return RecordingAnswers(
                       queries.size(), RecordingAnswer{{3, 5}, PackedLength({32000, 16000}), {}});
                 })
          .index;
  const Alphabet alphabet{configs::TextConfig{}};
  const auto frames = [&] {
    LabelNeeds needs(options, index, alphabet);
    std::vector<LabelNeed> found;
    for (std::size_t u = 0; u < index.size(); ++u) found.push_back(needs[u]);
    LeftOut left_out;
    left_out.add(3);
    EXPECT_EQ(needs.corpus_hash(left_out, [] { return std::uint64_t{42}; }), 42u);
    return found;
  };
  const std::vector<LabelNeed> expected = {{1, 1}, {3, 2},  {5, 3}, {LabelNeed::kBad, 0},
                                           {9, 5}, {11, 6}, {13, 7}};
  EXPECT_EQ(frames(), expected);
  const auto file = cached_file(options.cache, options.manifest, ".labels");
  const std::string whole = test::read_file(file);
  ASSERT_EQ(whole.size(), 7 * sizeof(LabelNeed) + kTrailer);
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = whole;
    const std::size_t at = random() % (7 * sizeof(LabelNeed));
    bytes[at] ^= static_cast<char>(1 << random() % 8);
    if (i % 7 == 0) bytes.resize(random() % bytes.size());
    const std::size_t content = bytes.size() < 8 ? 0 : bytes.size() - 8;
    const std::uint64_t digest = hash_of(bytes.substr(0, content));
    if (content > 0) std::memcpy(bytes.data() + content, &digest, sizeof digest);
    test::write_file(file, bytes);
    ASSERT_EQ(frames(), expected);
  }
}

/// Such a text is bad, whatever another decoder's cache of the same manifest says.
TEST(LabelNeeds, AreBadWithTheEndOfTexts) {
  const test::TemporaryFolder folder;
  configs::TextConfig text;
  text.kind = "bpe";
  text.model = test::source("tests/golden/byte_pairs/qwen2.json").string();
  const auto tokenizer = make_tokenizer(text);
  CorpusOptions options;
  options.manifest = folder.path() / "train.jsonl";
  options.cache.path = folder.path() / "cache";
  options.labels_key = "a";
  options.loss = layers::ctc_loss();
  options.output_frames = [](std::int64_t frames) { return frames; };
  test::write_file(options.manifest, R"({"audio_filepath": "0.wav", "text": "one"})"
                                     "\n"
                                     R"({"audio_filepath": "1.wav", "text": "two<|endoftext|>"})"
                                     "\n");
  const UtteranceIndex index =
      find_index({.manifest = options.manifest, .cache = options.cache},
                 [](std::span<const RecordingQuery> queries) {
                   return RecordingAnswers(
                       queries.size(), RecordingAnswer{{3, 5}, PackedLength({32000, 16000}), {}});
                 })
          .index;
  const auto faults = [&] {
    const FilteredUtterances found = filter_utterances(options, index, *tokenizer);
    return found.faults.empty() ? std::string() : found.faults.all().front().what;
  };
  EXPECT_EQ(faults(), "");
  options.loss.writing = {.eos = tokenizer->encode("two<|endoftext|>").back()};
  EXPECT_NE(faults().find("its text contains '<|endoftext|>'"), std::string::npos) << faults();
  options.loss.writing = std::nullopt;
  EXPECT_EQ(faults(), "");
}

/// A text that held the end of texts would teach the model to stop within texts.
TEST(TranscriptLabels, DoNotHoldTheEndOfTexts) {
  configs::TextConfig text;
  text.kind = "bpe";
  text.model = test::source("tests/golden/byte_pairs/qwen2.json").string();
  const auto tokenizer = make_tokenizer(text);
  CorpusOptions options;
  const std::string whole = "one<|endoftext|>two";
  const auto labels = encode_transcript(options, *tokenizer, whole);  // a decoder without an end
  options.loss.writing = {.eos = 0};
  options.loss.writing->eos = *std::ranges::find_if(
      labels, [&](std::int32_t id) { return tokenizer->decode(std::vector{id}).empty(); });
  EXPECT_EQ(
      test::message_of<DataError>([&] { (void)encode_transcript(options, *tokenizer, whole); }),
      fmt::format("its text contains '<|endoftext|>', with which texts end (decoder.eos = "
                  "{}): take it out of the text",
                  options.loss.writing->eos));
  EXPECT_EQ(encode_transcript(options, *tokenizer, "one"), tokenizer->encode("one"));
}

}  // namespace
}  // namespace penstock::runtime
