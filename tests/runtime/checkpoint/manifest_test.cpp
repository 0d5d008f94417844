#include "runtime/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "runtime/checkpoint/hash.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

Manifest example() {
  Manifest manifest;
  manifest.state = {.step = 1234567890123,
                    .optimizer_steps = 1234567890120,
                    .epoch = 3,
                    .step_in_epoch = 17,
                    .seed = std::numeric_limits<std::uint64_t>::max(),
                    .lanes = 4,
                    .corpus_hash = "abc",
                    .config = {{"model.hidden", "256"}, {"text.alphabet", "\"'äb \""}},
                    .plan_toml = "[[stage]]\nlayers = 3\n",
                    .best_metric = "cer",
                    .best_value = 0.1,
                    .best_step = 1000,
                    .best_corpus_hash = "def",
                    .tokenizer_hash = std::string(32, 'c'),
                    .corrections = {{600, "optimizer.clip_norm", "400", "10"}},
                    .data_origin = {600, 2},
                    .sound_hashes = {{"augment.noise", "17"}},
                    .early_stopping = EarlyStoppingRecord{"cer", "def", 0.1, 1000, 3, 1300}};
  manifest.shards = {{"stage-0.safetensors",
                      1 << 20,
                      std::string(32, 'a'),
                      {{"w", layers::DType::bf16, {3, 5}, 2, 15, 64, 90, std::string(32, 'b')}}}};
  manifest.files = {{"huggingface/config.json", 12, std::string(32, 'c')}};
  return manifest;
}

/// Returns the text with the hash that its contents have.
std::string with_hash(std::string text) {
  const std::size_t digits = text.find("\"hash\": \"") + 9;
  text.replace(digits, 32, 32, '0');
  return text.replace(digits, 32, xxh3_128(text));
}

TEST(Manifest, ReadsBackEqual) {
  EXPECT_EQ(parse_manifest(to_text(example())), example());
  EXPECT_EQ(parse_manifest(to_text(Manifest{})), Manifest{});
}

// A run that changed nothing writes none of the keys that record changes.
TEST(Manifest, HasNoHistoryWithoutChanges) {
  Manifest manifest = example();
  for (const char* key : {"\"corrections\"", "\"data_origin\"", "\"sound_hashes\""})
    EXPECT_NE(to_text(manifest).find(key), std::string::npos) << key;
  manifest.state.corrections.clear();
  manifest.state.data_origin = {};
  manifest.state.sound_hashes.clear();
  for (const char* key : {"\"corrections\"", "\"data_origin\"", "\"sound_hashes\""})
    EXPECT_EQ(to_text(manifest).find(key), std::string::npos) << key;
  EXPECT_EQ(parse_manifest(to_text(manifest)), manifest);
}

// Checkpoints of older versions and of imports have no record.
TEST(Manifest, MayLackTheRecordOfEarlyStopping) {
  Manifest manifest = example();
  EXPECT_NE(to_text(manifest).find("\"early_stopping\""), std::string::npos);
  manifest.state.early_stopping.reset();
  EXPECT_EQ(to_text(manifest).find("\"early_stopping\""), std::string::npos);
  EXPECT_EQ(parse_manifest(to_text(manifest)), manifest);
}

TEST(Manifest, RefusesARecordThatCannotBe) {
  for (const EarlyStoppingRecord& record :
       {EarlyStoppingRecord{.step = -1}, EarlyStoppingRecord{.waited = -1},
        EarlyStoppingRecord{.step = 20, .validated = 10}}) {
    Manifest manifest = example();
    manifest.state.early_stopping = record;
    EXPECT_THROW((void)parse_manifest(to_text(manifest)), CheckpointError) << record.step;
  }
}

// A run with an alphabet writes no key of a tokenizer.
TEST(Manifest, HasNoTokenizerWithoutPieces) {
  Manifest manifest = example();
  EXPECT_NE(to_text(manifest).find("\"tokenizer\""), std::string::npos);
  manifest.state.tokenizer_hash.clear();
  EXPECT_EQ(to_text(manifest).find("\"tokenizer\""), std::string::npos);
  EXPECT_EQ(parse_manifest(to_text(manifest)), manifest);
}

TEST(Manifest, NoticesEveryFlippedBit) {
  const std::string text = to_text(example());
  for (std::size_t bit = 0; bit < 8 * text.size(); ++bit) {
    std::string damaged = text;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_THROW((void)parse_manifest(damaged), CheckpointError) << bit;
  }
}

TEST(Manifest, NoticesEveryTruncationAndAddition) {
  const std::string text = to_text(example());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_THROW((void)parse_manifest(text.substr(0, size)), CheckpointError) << size;
  EXPECT_THROW((void)parse_manifest(text + " "), CheckpointError);
}

TEST(Manifest, NamesFilesOfItsFolderAlone) {
  for (const char* file : {"", "/etc/passwd", "../w", "a/../../w", "."}) {
    Manifest shard = example(), kept = example();
    shard.shards.front().file = file;
    kept.files.front().file = file;
    EXPECT_THROW((void)parse_manifest(to_text(shard)), CheckpointError) << file;
    EXPECT_THROW((void)parse_manifest(to_text(kept)), CheckpointError) << file;
  }
}

TEST(Manifest, RejectsNumbersAndTextsThatJsonLacks) {
  Manifest manifest = example();
  manifest.state.best_value = std::numeric_limits<double>::infinity();
  EXPECT_THROW((void)to_text(manifest), CheckpointError);
  manifest = example();
  manifest.state.early_stopping->value = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)to_text(manifest), CheckpointError);
  manifest = example();
  manifest.state.config = {{"data.train", "\xff"}};
  EXPECT_THROW((void)to_text(manifest), CheckpointError);
}

// To convert 1e99 to an integer is undefined, and 8.5 bytes are no bytes.
TEST(Manifest, RefusesCountsWithFractionsAndExponents) {
  const std::string whole = to_text(Manifest{});
  EXPECT_NO_THROW((void)parse_manifest(with_hash(whole)));
  for (const char* number : {"1e99", "-1e99", "0.5", "0.0"}) {
    std::string text = whole;
    const std::string before = "\"step\": 0";
    text.replace(text.find(before), before.size(), std::string("\"step\": ") + number);
    EXPECT_THROW((void)parse_manifest(with_hash(text)), CheckpointError) << number;
  }
}

TEST(ShardIndexText, RefusesCountsWithExponents) {
  const std::string message = test::message_of<CheckpointError>([] {
    (void)parse_shard_index(R"({"bytes": 1e99, "file": "a", "header_hash": "", "pieces": []})");
  });
  EXPECT_EQ(message, "its bytes is 1e+99, expected a whole number");
  EXPECT_THROW(
      (void)parse_shard_index(
          R"({"bytes": 1, "file": "a", "header_hash": "", "pieces": [{"full_shape": [1e99]}]})"),
      CheckpointError);
}

TEST(ShardIndexText, RefusesWhatNestsTooDeeply) {
  constexpr std::size_t kDepth = 1'000'000;
  EXPECT_EQ(test::message_of<CheckpointError>([] {
              (void)parse_shard_index(std::string(kDepth, '[') + std::string(kDepth, ']'));
            }),
            "its values nest deeper than 128");
}

}  // namespace
}  // namespace penstock::runtime
