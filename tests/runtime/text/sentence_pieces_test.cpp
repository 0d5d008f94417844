#include "runtime/text/sentence_pieces.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "runtime/huggingface/model_proto.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

using Labels = std::vector<std::int32_t>;
using test::message_of;

configs::TextConfig pieces_of(const std::string& path, const std::string& fold = "lower") {
  configs::TextConfig config;
  config.kind = "sentencepiece";
  config.model = path;
  config.fold = fold;
  return config;
}

configs::TextConfig golden_pieces(const std::string& name, const std::string& fold = "lower") {
  return pieces_of(test::source("tests/golden/pieces/" + name + ".model"), fold);
}

TEST(SentencePieces, SpellsTextsAsPythonDoes) {
  std::ifstream file(test::source("tests/golden/pieces/cases.jsonl"));
  int texts = 0, decoded = 0;
  for (std::string line; std::getline(file, line);) {
    const auto golden = nlohmann::json::parse(line);
    const SentencePieces pieces(golden_pieces(golden[0]));
    Labels labels = golden[2];
    for (std::int32_t& label : labels) ++label;
    EXPECT_EQ(pieces.decode(labels), golden[3].get<std::string>()) << line;
    ++decoded;
    if (golden[1].is_null()) continue;
    EXPECT_EQ(pieces.encode(golden[1].get<std::string>()), labels) << line;
    EXPECT_EQ(pieces.normalised(golden[1].get<std::string>()), golden[3].get<std::string>())
        << line;
    ++texts;
  }
  EXPECT_GT(texts, 50);
  EXPECT_GT(decoded, 110);
}

TEST(SentencePieces, PutsTheBlankBeforeThePieces) {
  const SentencePieces pieces(golden_pieces("unigram"));
  EXPECT_EQ(pieces.labels(), 81);
  Labels labels = pieces.encode("the cat");
  const std::string text = pieces.decode(labels);
  for (std::size_t at = 0; at <= labels.size(); at += 2)
    labels.insert(labels.begin() + at, kNoText);
  EXPECT_EQ(pieces.decode(labels), text);
}

// In the unigram model <unk>, <s> and </s> are the pieces 0 to 2.
TEST(SentencePieces, VocabularyHasTheTextOfPieces) {
  const SentencePieces pieces(golden_pieces("unigram"));
  const std::vector<Label> labels = pieces.vocabulary();
  const std::vector<std::string> written = pieces.pieces();
  ASSERT_EQ(std::ssize(labels), pieces.labels());
  EXPECT_EQ(labels.front().written + labels.front().text, "");
  for (std::int32_t i = 1; i < pieces.labels(); ++i) {
    const Label& label = labels[static_cast<std::size_t>(i)];
    EXPECT_EQ(label.written, written[static_cast<std::size_t>(i) - 1]);
    // A text drops the space before its first word, so the label follows one.
    const Labels texts = {pieces.encode("a").front(), i};
    const std::string first = pieces.decode(std::span(texts).first(1));
    EXPECT_EQ(first + label.text, pieces.decode(texts)) << label.written;
  }
}

TEST(SentencePieces, SymbolsAndBytesHaveNoText) {
  ModelProto model;
  model.pieces = {
      {"<unk>", 0, PieceType::unknown},     {"<s>", 0, PieceType::control}, {"▁a▁b"}, {"▁"},
      {"<em>", 0, PieceType::user_defined}, {"c", 0, PieceType::unused}};
  model.byte_fallback = true;
  for (int byte = 0; byte < 256; ++byte)
    model.pieces.push_back({fmt::format("<0x{:02X}>", byte), 0, PieceType::byte});
  const std::vector<Label> labels = SentencePieces(to_model_bytes(model), {}).vocabulary();
  std::vector<std::string> texts;
  for (const Label& label : labels) texts.push_back(label.text);
  std::vector<std::string> expected = {"", "", "", " a b", " ", "<em>", "c"};
  expected.resize(expected.size() + 256);
  EXPECT_EQ(texts, expected);
  EXPECT_EQ(labels.back().written, "<0xFF>");
}

TEST(SentencePieces, FoldsBeforeItSpells) {
  EXPECT_EQ(SentencePieces(golden_pieces("unigram")).normalised(" The\t CAT "), "the cat");
  EXPECT_THROW((void)SentencePieces(golden_pieces("unigram", "none")).encode("The"), DataError);
  EXPECT_EQ(SentencePieces(golden_pieces("rules")).normalised("Straße, weg"), "strasse weg");
}

TEST(SentencePieces, ListsEveryCharacterThatItLacksOnce) {
  const SentencePieces pieces(golden_pieces("bpe"));
  EXPECT_EQ(message_of<DataError>([&] { (void)pieces.encode("a 77 cat é 7 éé <s>"); }),
            "the transcript has characters that no piece of text.model has: '7' (U+0037), 'é' "
            "(U+00E9), '<' (U+003C), '>' (U+003E)");
  EXPECT_THROW((void)pieces.encode("\xff"), DataError);
}

// In the unigram model <unk>, <s> and </s> are the pieces 0 to 2.
TEST(SentencePieces, ControlSymbolsDecodeToNothing) {
  const SentencePieces pieces(golden_pieces("unigram"));
  Labels labels = pieces.encode("the cat");
  labels.insert(labels.begin() + 1, {1, 2, 3});
  EXPECT_EQ(pieces.decode(labels), "the cat");
}

TEST(SentencePieces, RejectsLabelsThatItLacks) {
  const SentencePieces pieces(golden_pieces("bpe"));
  EXPECT_NO_THROW((void)pieces.decode(Labels{90}));
  EXPECT_THROW((void)pieces.decode(Labels{91}), DataError);
  EXPECT_THROW((void)pieces.decode(Labels{-1}), DataError);
}

TEST(SentencePieces, KeepsTheBytesOfItsModel) {
  const configs::TextConfig config = golden_pieces("bpe");
  EXPECT_EQ(SentencePieces(config).model(), test::read_file(config.model));
}

TEST(SentencePieces, RejectsWhatIsNoModel) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "some.model";
  const auto refused = [&] {
    return message_of<ConfigError>([&] { SentencePieces(pieces_of(path)); });
  };
  EXPECT_NE(refused().find(path + ": can't be opened: No such file"), std::string::npos)
      << refused();
  const std::string whole = test::read_file(golden_pieces("bpe").model);
  for (const std::string& bytes :
       {std::string(), std::string("some text\n"), whole.substr(0, 700)}) {
    test::write_file(path, bytes);
    EXPECT_NE(refused().find("text.model = " + path + ": "), std::string::npos) << bytes.size();
  }
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  EXPECT_NE(refused().find("is a folder"), std::string::npos);
}

/// The library throws an exception of its own there, which names no file.
TEST(SentencePieces, NamesAModelWithAnEmptyPiece) {
  const test::TemporaryFolder folder;
  std::string bytes = test::read_file(test::source("tests/golden/pieces/unigram.model"));
  const std::size_t at = bytes.find("\x0a\x03\xe2\x96\x81");  // the piece that is a space
  ASSERT_NE(at, std::string::npos);
  bytes[at + 2] = '\0';  // where the library sees its end
  test::write_file(folder.path() / "empty.model", bytes);
  const std::string message = message_of<ConfigError>(
      [&] { (void)SentencePieces(pieces_of(folder.path() / "empty.model")); });
  EXPECT_NE(message.find("empty.model: can't be used: "), std::string::npos) << message;
}

TEST(SentencePieces, NamesAModelThatCannotBeRead) {
  const std::string message =
      message_of<ConfigError>([] { (void)SentencePieces(pieces_of("/proc/self/mem")); });
  EXPECT_NE(message.find("/proc/self/mem: can't be read: "), std::string::npos) << message;
}

using test::message_of;

std::vector<std::string> golden_texts() {
  std::istringstream lines(test::read_file(test::source("tests/golden/pieces/texts.txt")));
  std::vector<std::string> texts;
  for (std::string line; std::getline(lines, line);) texts.push_back(line);
  return texts;
}

class TrainPieces : public testing::TestWithParam<const char*> {
 protected:
  SentencePieces trained(const std::vector<std::string>& texts, int pieces) const {
    configs::TextConfig config;
    config.kind = "sentencepiece";
    config.fold = "none";
    config.model = folder_.path() / "trained.model";
    test::write_file(config.model, train_pieces(texts, {pieces, GetParam()}));
    return SentencePieces(config);
  }
  std::string refused(const std::vector<std::string>& texts, int pieces) const {
    return message_of<ConfigError>([&] { (void)train_pieces(texts, {pieces, GetParam()}); });
  }
  test::TemporaryFolder folder_;
};

TEST_P(TrainPieces, SpellItsTextsInFewerLabels) {
  const std::vector<std::string> texts = golden_texts();
  const SentencePieces pieces = trained(texts, 83);
  EXPECT_EQ(pieces.labels(), 84);
  for (const std::string& text : texts) {
    EXPECT_EQ(pieces.normalised(text), text);
    EXPECT_LT(pieces.encode(text).size(), text.size());
  }
}

TEST_P(TrainPieces, HaveNoOtherSymbolThanUnk) {
  const SentencePieces pieces = trained(golden_texts(), 61);
  const std::int32_t e = pieces.encode("e").back();
  const std::string two = pieces.decode(std::vector{e, e});
  EXPECT_EQ(pieces.decode(std::vector{e, 1, e}), two);  // <unk>
  for (std::int32_t label = 2; label < pieces.labels(); ++label)
    EXPECT_NE(pieces.decode(std::vector{e, label, e}), two) << label;
}

TEST_P(TrainPieces, FollowFromTextsAndOptions) {
  const std::vector<std::string> texts = golden_texts();
  EXPECT_EQ(train_pieces(texts, {70, GetParam()}), train_pieces(texts, {70, GetParam()}));
  EXPECT_NE(train_pieces(texts, {70, GetParam()}), train_pieces(texts, {71, GetParam()}));
}

TEST_P(TrainPieces, LeaveLongTextsAndCaseAlone) {
  std::string longer = "Ä";
  for (int i = 0; i < 3000; ++i) longer += " ab";
  EXPECT_EQ(trained({longer, "b a"}, 6).normalised("Ä ab"), "Ä ab");
}

TEST_P(TrainPieces, BoundsAreSaid) {
  const std::vector<std::string> texts = {"ab", "ba a"};
  EXPECT_NE(refused(texts, 3).find("3 pieces are too few"), std::string::npos);
  EXPECT_NE(refused(texts, 3).find("which are 4"), std::string::npos);
  EXPECT_EQ(refused(texts, 4), "");
  const std::string max = refused(texts, 1000);
  const auto at = max.find("at most ");
  ASSERT_NE(at, std::string::npos) << max;
  const int bound = std::stoi(max.substr(at + 8));
  EXPECT_EQ(refused(texts, bound), "");
  EXPECT_NE(refused(texts, bound + 1), "");
}

TEST_P(TrainPieces, NeedTextWithoutReservedCharacters) {
  EXPECT_THROW((void)train_pieces({}, {9, GetParam()}), DataError);
  EXPECT_THROW((void)train_pieces({"", ""}, {9, GetParam()}), DataError);
  EXPECT_THROW((void)train_pieces({"ab", "a\u2585b"}, {9, GetParam()}), DataError);
}

INSTANTIATE_TEST_SUITE_P(, TrainPieces, testing::Values("unigram", "bpe"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TrainPiecesKind, MustBeKnown) {
  EXPECT_THROW((void)train_pieces({"ab"}, {9, "word"}), ConfigError);
}

}  // namespace
}  // namespace penstock::runtime
