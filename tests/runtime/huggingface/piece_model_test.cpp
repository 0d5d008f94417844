#include "runtime/huggingface/piece_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/export.h"
#include "runtime/huggingface/import.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

class PieceModelOfFolder : public testing::Test {
 protected:
  PieceModelOfFolder() {
    configs::TextConfig text;
    text.kind = "sentencepiece";
    text.model = test::source("tests/golden/pieces/unigram.model").string();
    pieces_ = SentencePieces(text).pieces();
    std::filesystem::create_directory(theirs());
    std::filesystem::copy_file(text.model, theirs() / "tokenizer.model");
  }
  std::filesystem::path theirs() const { return output_.path() / "theirs"; }

  /// Puts a golden Parakeet there whose head has the pieces as its rows, and the blank last.
  void write_parakeet() const {
    std::filesystem::copy(test::source("tests/golden/parakeet_for_ctc"), theirs());
    const std::int64_t rows = static_cast<std::int64_t>(pieces_.size()) + 1;
    test::change_tensors(theirs() / "model.safetensors", [&](test::FileTensors& tensors) {
      for (auto& [name, tensor] : tensors) {
        if (!name.starts_with("ctc_head")) continue;
        tensor.shape.front() = rows;
        tensor.bytes.resize(static_cast<std::size_t>(layers::element_count(tensor.shape)) * 4);
      }
    });
    const std::string count = std::to_string(rows), blank = std::to_string(rows - 1);
    test::change_text(theirs() / "config.json", "\"vocab_size\": 8", "\"vocab_size\": " + count);
    test::change_text(theirs() / "config.json", "\"pad_token_id\": 7",
                      "\"pad_token_id\": " + blank);
    nlohmann::json vocabulary = nlohmann::json::object();
    for (std::size_t i = 0; i < pieces_.size(); ++i) vocabulary[pieces_[i]] = i;
    const nlohmann::json pad = {{"id", rows - 1}, {"content", "<pad>"}};
    test::write_file(theirs() / "tokenizer.json",
                     nlohmann::json({{"model", {{"vocab", vocabulary}}},
                                     {"added_tokens", nlohmann::json::array({pad})}})
                         .dump());
  }

  test::TemporaryFolder output_;
  std::vector<std::string> pieces_;
};

TEST_F(PieceModelOfFolder, HasTheTokensInTheirOrder) {
  Vocabulary vocabulary;
  vocabulary.tokens = pieces_;
  vocabulary.tokens.insert(vocabulary.tokens.begin() + 3, "<pad>");
  const auto found = find_piece_model(theirs(), vocabulary, 3);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->text.kind, "sentencepiece");
  EXPECT_EQ(found->bytes, test::read_file(theirs() / "tokenizer.model"));
  std::swap(vocabulary.tokens[5], vocabulary.tokens[6]);
  EXPECT_FALSE(find_piece_model(theirs(), vocabulary, 3));
  EXPECT_FALSE(find_piece_model(output_.path(), vocabulary, 3));
  test::write_file(theirs() / "tokenizer.model", "no model");
  EXPECT_THROW((void)find_piece_model(theirs(), vocabulary, 3), CheckpointError);
}

TEST_F(PieceModelOfFolder, IsImportedAndGivenBack) {
  write_parakeet();
  const auto imported = output_.path() / "imported", exported = output_.path() / "exported";
  import_model(theirs(), imported);
  const Checkpoint checkpoint = open_checkpoint(imported);
  EXPECT_EQ(checkpoint.state().config.at("text.kind"), "sentencepiece");
  const std::string model = test::read_file(theirs() / "tokenizer.model");
  EXPECT_EQ(test::read_file(checkpoint.tokenizer_file()), model);
  export_model(imported, exported);
  EXPECT_EQ(test::read_file(exported / "tokenizer.model"), model);
}

}  // namespace
}  // namespace penstock::runtime
