#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "runtime/huggingface/piece_model.h"
#include "runtime/huggingface/write_tokenizer.h"
#include "runtime/text/sentence_pieces.h"
#include "tests/support/runtime/exchanged_folder.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Json = nlohmann::json;

configs::TextConfig text_as_it_is() {
  configs::TextConfig text;
  text.kind = "sentencepiece";
  text.fold = "none";
  return text;
}

class TokenizerPieces : public testing::Test {
 protected:
  std::filesystem::path tokenizer() const { return folder_.path() / "tokenizer.json"; }

  void copy(const std::string& name) const {
    std::filesystem::copy_file(test::source("tests/golden/piece_tokenizers/" + name + ".json"),
                               tokenizer(), std::filesystem::copy_options::overwrite_existing);
  }

  /// Returns the bytes of the SentencePiece model made of tokenizer.json, whose blank has row
  /// `blank`.
  std::string model(std::int64_t blank) const {
    const Json json = Json::parse(test::read_file(tokenizer()));
    std::set<double> rows;  // an id may be beyond all whole numbers
    for (const Json& added : json["added_tokens"]) rows.insert(added["id"].get<double>());
    for (std::size_t row = 0; row < json["model"]["vocab"].size(); ++row)
      rows.insert(static_cast<double>(row));
    const auto count = static_cast<std::int64_t>(rows.size());
    const Vocabulary vocabulary =
        read_vocabulary(folder_.path(), {TokenizerKind::pieces, count, blank});
    return to_model_bytes(model_of_tokenizer(folder_.path(), vocabulary, blank));
  }

  /// Puts other JSON in place of some, and says what is refused.
  std::string fault(std::string_view from, std::string_view to,
                    const std::string& name = "unigram") const {
    copy(name);
    test::change_text(tokenizer(), from, to);
    return test::message_of<CheckpointError>([&] { (void)model(name == "bytes-bpe" ? 0 : 70); });
  }

  test::TemporaryFolder folder_;
};

// piece_tokenizers.py says what tokenizers makes of them.
TEST_F(TokenizerPieces, SpellAndReadAsTokenizersDoes) {
  std::ifstream file(test::source("tests/golden/piece_tokenizers/cases.jsonl"));
  int texts = 0, decoded = 0;
  for (std::string line; std::getline(file, line); ++decoded) {
    const auto golden = Json::parse(line);
    const std::int64_t blank = golden[1];
    copy(golden[0]);
    const SentencePieces pieces(model(blank), text_as_it_is());
    std::vector<std::int32_t> labels = golden[3];
    for (std::int32_t& label : labels) label += label < blank ? 1 : 0;
    EXPECT_EQ(pieces.decode(labels), golden[4].get<std::string>()) << line;
    if (golden[2].is_null()) continue;
    EXPECT_EQ(pieces.encode(golden[2].get<std::string>()), labels) << line;
    ++texts;
  }
  EXPECT_GT(texts, 100);
  EXPECT_GT(decoded, 200);
}

TEST_F(TokenizerPieces, NameWhatNoModelSays) {
  const std::vector<std::array<std::string, 3>> cases = {
      {R"("type":"Unigram")", R"("type":"WordPiece")", "its model is \"WordPiece\""},
      {R"("unk_id":0)", R"("unk_id":null)", "no token for what is unknown"},
      {R"("unk_id":0)", R"("unk_id":700)", "an unk_id that is none"},
      {R"("unk_id":0)", R"("unk_id":1e300)", "its token for what is unknown is 1e+300"},
      {R"("normalizer":{)", R"("normalizer":{"type":"Lowercase"},"was":{)",
       R"(its normalizer is {"type":"Lowercase"})"},
      {R"("pre_tokenizer":{)", R"("pre_tokenizer":{"type":"ByteLevel"},"was":{)",
       R"(its pre_tokenizer is {"type":"ByteLevel"})"},
      {R"("pre_tokenizer":{)", R"("pre_tokenizer":null,"was":{)", "makes a '▁' of a space"},
      {R"("decoder":{)", R"("decoder":{"type":"WordPiece"},"was":{)",
       R"(its decoder is {"type":"WordPiece"})"},
      {R"("id":0,"content":"<unk>")", R"("id":5,"content":"x")", "row 5"},
      {R"("id":0,"content":"<unk>")", R"("id":1e300,"content":"x")", "row 1e+300, which is no"},
  };
  for (const auto& [from, to, said] : cases) {
    const std::string message = fault(from, to);
    EXPECT_NE(message.find(said), std::string::npos) << said << " is not in: " << message;
  }
  EXPECT_NE(fault(R"("ignore_merges":false)", R"("ignore_merges":true)", "bytes-bpe")
                .find("its ignore_merges is true"),
            std::string::npos);
  EXPECT_NE(fault("<0x41>", "<0x4>", "bytes-bpe").find("has 255 of the 256"), std::string::npos);
}

/// A BPE model of these tokens and merges, without words apart.
std::string bpe_of(const std::vector<std::string>& tokens, const char* merges) {
  Json vocabulary = Json::object();
  for (std::size_t i = 0; i < tokens.size(); ++i) vocabulary[tokens[i]] = i;
  const Json model = {{"type", "BPE"},
                      {"unk_token", "<unk>"},
                      {"vocab", vocabulary},
                      {"merges", Json::parse(merges)}};
  const Json space = {{"type", "Metaspace"}, {"replacement", "▁"}, {"split", false}};
  return Json({{"model", model},
               {"pre_tokenizer", space},
               {"added_tokens", Json::array({{{"id", 0}, {"content", "<pad>"}}})}})
      .dump();
}

// SentencePiece makes "abc" of any two pieces that spell it.
TEST_F(TokenizerPieces, RefuseMergesThatScoresCannotSay) {
  const std::vector<std::string> tokens = {"<pad>", "<unk>", "▁", "a", "b", "c", "ab", "bc", "abc"};
  test::write_file(tokenizer(), bpe_of(tokens, R"(["b c", "a b", "ab c"])"));
  EXPECT_NE(test::message_of<CheckpointError>([&] {
              (void)model(0);
            }).find("its merges never make 'abc' of 'a' and 'bc'"),
            std::string::npos);
  test::write_file(tokenizer(), bpe_of(tokens, R"([["b", "c"], ["a", "b"], ["a", "bc"]])"));
  const SentencePieces pieces(model(0), text_as_it_is());
  EXPECT_EQ(pieces.encode("abcab"), (std::vector<std::int32_t>{2, 8, 6}));
}

TEST_F(TokenizerPieces, RefusePiecesOverTheEndsOfWords) {
  copy("bytes-bpe");  // whose pre_tokenizer is null
  EXPECT_NO_THROW((void)model(0));
  EXPECT_NE(fault(R"("pre_tokenizer":null)", R"("pre_tokenizer":{"type":"Metaspace"})", "bytes-bpe")
                .find("goes over the end of a word"),
            std::string::npos);
}

}  // namespace
}  // namespace penstock::runtime
