#include "runtime/huggingface/byte_pair_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/import.h"
#include "runtime/text/byte_pairs.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

namespace fs = std::filesystem;
using Labels = std::vector<std::int32_t>;

constexpr const char* kText = "the other morning, 東京";

/// A folder of Qwen2's form. Its ids 600 to 602 are special, and 603 and 604 are added.
class BytePairRowsOfHead : public testing::Test {
 protected:
  BytePairRowsOfHead() {
    fs::copy(test::source("tests/golden/byte_pairs/qwen2.json"), folder_.path() / "tokenizer.json");
  }
  BytePairRows read(std::int64_t rows, std::int64_t blank) const {
    return read_byte_pair_rows(folder_.path(), rows, blank);
  }
  static BytePairs tokenizer(const BytePairModel& model) {
    return BytePairs(to_tokenizer_json(model), {});
  }

  const test::TemporaryFolder folder_;
};

TEST_F(BytePairRowsOfHead, TheBlankIsNoId) {
  const BytePairs whole(test::read_file(folder_.path() / "tokenizer.json"), {});
  const BytePairRows rows = read(640, 600);
  EXPECT_EQ(rows.vocabulary.tokens[600], "<|endoftext|>");
  EXPECT_EQ(rows.vocabulary.tokens.size(), 605u);
  EXPECT_TRUE(rows.vocabulary.special.contains("<|en|>"));
  const BytePairs without = tokenizer(rows.model);
  EXPECT_EQ(without.labels(), 605);
  EXPECT_EQ(without.encode(kText), whole.encode(kText));
  EXPECT_EQ(whole.encode("<|en|>"), Labels{602});
  EXPECT_EQ(without.encode("<|en|>"), Labels{601});
}

TEST_F(BytePairRowsOfHead, TheBlankMayHaveNoToken) {
  EXPECT_EQ(read(640, 639).model.tokens.size(), 605u);
}

/// The row after a small head is its blank's, which has no token then.
TEST_F(BytePairRowsOfHead, TokensBeyondItAreLeftOut) {
  BytePairModel model = read(640, 639).model;
  std::swap(model.tokens[420], model.tokens[602]);
  model.added[2].id = 420;
  ASSERT_EQ(model.tokens[420], model.added[2].text);
  const std::string moved = model.tokens[602];
  test::write_file(folder_.path() / "tokenizer.json", to_tokenizer_json(model));
  const BytePairRows rows = read(421, 420);
  EXPECT_EQ(rows.model.tokens.size(), 420u);
  EXPECT_EQ(rows.vocabulary.beyond.size(), 605u - 421u);
  EXPECT_EQ(std::ranges::count(rows.vocabulary.beyond, moved), 1);
  EXPECT_LT(rows.model.merges.size(), model.merges.size());
  const BytePairs small = tokenizer(rows.model);
  const Labels labels = small.encode(kText);
  EXPECT_LT(*std::ranges::max_element(labels), 421);
  EXPECT_EQ(small.decode(labels), kText);
}

TEST_F(BytePairRowsOfHead, RefusesABlankThatTextsHave) {
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read(640, 0);
            }).find("has the token '!' in the row of the blank, 0"),
            std::string::npos);
  EXPECT_NE(test::message_of<CheckpointError>([&] { (void)read(640, 603); }).find("'<asr_text>'"),
            std::string::npos);
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read(640, 640);
            }).find("the row of the blank is 640, but the head has 640 rows"),
            std::string::npos);
}

TEST_F(BytePairRowsOfHead, NamesAFileThatItCannotUse) {
  test::write_file(folder_.path() / "tokenizer.json", "{}");
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)read(640, 600);
            }).find("it is no tokenizer.json of byte-level BPE"),
            std::string::npos);
}

TEST_F(BytePairRowsOfHead, IsWrittenWithItsBlank) {
  const BytePairRows rows = read(640, 600);
  for (const std::int64_t blank : {0, 600, 639}) {
    const test::TemporaryFolder written;
    write_byte_pair_tokenizer(written.path(), to_tokenizer_json(rows.model),
                              {640, blank, "<|en|>"});
    const BytePairRows again = read_byte_pair_rows(written.path(), 640, blank);
    EXPECT_EQ(again.vocabulary.tokens[static_cast<std::size_t>(blank)], "<|en|_>");
    EXPECT_EQ(tokenizer(again.model).encode(kText), tokenizer(rows.model).encode(kText));
    EXPECT_NE(
        test::read_file(written.path() / "tokenizer_config.json").find(R"("pad_token": "<|en|_>")"),
        std::string::npos);
  }
}

/// A wav2vec 2.0 model with a head of 610 rows, whose tokens are the folder's. The blank is row
/// 600.
void make_model(const fs::path& folder) {
  const fs::path golden = test::source("tests/golden/wav2vec2_for_ctc");
  for (const char* name : {"config.json", "preprocessor_config.json", "model.safetensors"})
    fs::copy(golden / name, folder / name);
  test::change_text(folder / "config.json", "\"vocab_size\": 9", "\"vocab_size\": 610");
  test::change_text(folder / "config.json", "\"pad_token_id\": 2", "\"pad_token_id\": 600");
  test::change_tensors(folder / "model.safetensors", [](test::FileTensors& tensors) {
    for (const char* name : {"lm_head.weight", "lm_head.bias"}) {
      test::FileTensor& tensor = tensors.at(name);
      tensor.bytes.resize(tensor.bytes.size() / 9 * 610);
      tensor.shape[0] = 610;
    }
  });
}

TEST_F(BytePairRowsOfHead, ComeWithAnImportAndAnExport) {
  make_model(folder_.path());
  const test::TemporaryFolder output;
  import_model(folder_.path(), output.path() / "checkpoint");
  const Checkpoint checkpoint = open_checkpoint(output.path() / "checkpoint");
  EXPECT_EQ(checkpoint.state().config.at("text.kind"), "bpe");
  EXPECT_EQ(checkpoint.state().config.at("text.fold"), "none");
  EXPECT_EQ(checkpoint.tensor("output.bias").shape, (layers::Shape{610}));
  const BytePairs kept(test::read_file(checkpoint.tokenizer_file()), {});
  EXPECT_EQ(kept.encode(kText), tokenizer(read(610, 600).model).encode(kText));
  (void)export_model(output.path() / "checkpoint", output.path() / "exported");
  EXPECT_EQ(test::read_file(output.path() / "exported/tokenizer.json"),
            test::read_file(folder_.path() / "tokenizer.json"));
  EXPECT_FALSE(fs::exists(output.path() / "exported/tokenizer.model"));
}

TEST_F(BytePairRowsOfHead, ComeFromOlderFilesToo) {
  make_model(folder_.path());
  fs::remove(folder_.path() / "tokenizer.json");
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer_config.json"})
    fs::copy(test::source("tests/golden/byte_pairs/qwen2-files") / name, folder_.path() / name);
  const test::TemporaryFolder output;
  import_model(folder_.path(), output.path() / "checkpoint");
  const Checkpoint checkpoint = open_checkpoint(output.path() / "checkpoint");
  const BytePairs kept(test::read_file(checkpoint.tokenizer_file()), {});
  EXPECT_EQ(kept.decode(kept.encode(kText)), kText);
  (void)export_model(output.path() / "checkpoint", output.path() / "exported");
  EXPECT_TRUE(fs::exists(output.path() / "exported/merges.txt"));
}

}  // namespace
}  // namespace penstock::runtime
