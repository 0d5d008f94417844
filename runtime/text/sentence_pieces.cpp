#include "runtime/text/sentence_pieces.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/quantities.h"
#include "base/unicode.h"
#include "runtime/text/tokenizer.h"

// The library numbers pieces from 0, and label 0 is CTC's blank, so piece i is label i + 1. A text
// is first normalised and folded by [text] and then by the model's own rules. The library encodes
// characters without a piece as its unknown piece; such a text is refused, and the error names the
// characters that lack a piece.

namespace penstock::runtime {
namespace {

[[noreturn]] void throw_unusable(const std::string& path, const std::string& reason) {
  throw ConfigError(
      fmt::format("text.model = {}: {}; it must name a SentencePiece model, such as `penstock data "
                  "tokens` makes",
                  path, reason));
}

std::string bytes_of(const std::string& path) {
  std::error_code ignored;  // opening the file reports errors
  if (std::filesystem::is_directory(path, ignored)) throw_unusable(path, "is a folder");
  try {
    return read_file(path);
  } catch (const FileError& error) {
    throw_unusable(path, error.what());
  }
}

/// Loads a model and returns the library's message, "OK" if it succeeded. The library returns most
/// errors but throws some, for instance for an empty piece.
std::string fault_of_model(sentencepiece::SentencePieceProcessor& pieces,
                           const std::string& model) try {
  return pieces.LoadFromSerializedProto(model).ToString();
} catch (const std::exception& error) {
  return error.what();
}

constexpr char32_t kReserved = U'\u2585';  // the library skips texts that contain it

constexpr const char* kLongest = "1073741824";  // bytes of a text; the library's bound

/// Returns the text that a piece adds to a transcript. Pieces write "▁" (U+2581) for a space.
std::string text_of_piece(std::string piece) {
  constexpr std::string_view kSpace = "▁";
  for (std::size_t at = 0; (at = piece.find(kSpace, at)) != std::string::npos; ++at)
    piece.replace(at, kSpace.size(), " ");
  return piece;
}

class Texts : public sentencepiece::SentenceIterator {
 public:
  explicit Texts(const std::vector<std::string>& texts) : texts_(texts) {}
  bool done() const override { return at_ == texts_.size(); }
  void Next() override { ++at_; }
  const std::string& value() const override { return texts_[at_]; }
  sentencepiece::util::Status status() const override { return {}; }

 private:
  const std::vector<std::string>& texts_;
  std::size_t at_ = 0;
};

/// Returns the fewest possible pieces: one per character, including the space, and <unk>.
int min_pieces(const std::vector<std::string>& texts) {
  std::set<char32_t> characters{U' '};
  for (const std::string& text : texts)
    for (const char32_t character : from_utf8(text)) characters.insert(character);
  if (characters.size() == 1)
    throw DataError("the transcripts are empty: there is nothing to train pieces on");
  if (characters.contains(kReserved))
    throw DataError(
        fmt::format("the transcripts have '{}' (U+2585), which SentencePiece keeps for itself: "
                    "replace it by another character",
                    to_utf8({&kReserved, 1})));
  return static_cast<int>(characters.size()) + 1;
}

/// The options make the result a function of texts and `training` alone: one thread, no
/// normalisation beside [text]'s, and every character covered.
std::unordered_map<std::string, std::string> options_of(const PieceTraining& training) {
  return {{"model_type", training.kind},
          {"vocab_size", fmt::format("{}", training.pieces)},
          {"hard_vocab_limit", "false"},  // the number of pieces is checked below
          {"normalization_rule_name", "identity"},
          {"character_coverage", "1"},
          {"byte_fallback", "false"},
          {"bos_id", "-1"},
          {"eos_id", "-1"},
          {"max_sentence_length", kLongest},
          {"num_threads", "1"},
          {"minloglevel", "2"}};
}

}  // namespace

SentencePieces::SentencePieces(const configs::TextConfig& config)
    : SentencePieces(bytes_of(config.model), config) {}

SentencePieces::SentencePieces(std::string model, const configs::TextConfig& config)
    : rules_(configs::text_rules(config)),
      model_(std::move(model)),
      pieces_(std::make_unique<sentencepiece::SentencePieceProcessor>()) {
  if (const std::string fault = fault_of_model(*pieces_, model_); fault != "OK")
    throw_unusable(config.model, fmt::format("can't be used: {}", fault));
  if (pieces_->GetPieceSize() == 0) throw_unusable(config.model, "has no pieces");
}

SentencePieces::~SentencePieces() = default;

int SentencePieces::labels() const { return pieces_->GetPieceSize() + 1; }

std::vector<Label> SentencePieces::vocabulary() const {
  std::vector<Label> all(1);
  for (int i = 0; i < pieces_->GetPieceSize(); ++i) {
    const bool is_text = !pieces_->IsUnknown(i) && !pieces_->IsControl(i) && !pieces_->IsByte(i);
    const std::string& piece = pieces_->IdToPiece(i);
    all.push_back({piece, is_text ? text_of_piece(piece) : ""});
  }
  return all;
}

std::vector<std::string> SentencePieces::pieces() const {
  std::vector<std::string> pieces;
  for (int i = 0; i < pieces_->GetPieceSize(); ++i) pieces.push_back(pieces_->IdToPiece(i));
  return pieces;
}

std::string SentencePieces::normalised(std::string_view text) const { return decode(encode(text)); }

// Each piece's surface is the part of the text that it stands for.
std::vector<std::int32_t> SentencePieces::encode(std::string_view text) const {
  std::vector<std::int32_t> labels;
  std::u32string missing;
  const auto encoded = pieces_->EncodeAsImmutableProto(to_utf8(folded_text(text, rules_)));
  for (const auto& piece : encoded.pieces()) {
    const int id = static_cast<int>(piece.id());
    if (!pieces_->IsUnknown(id))
      labels.push_back(id + 1);
    else  // the space that models prepend to a text has no surface
      missing += piece.surface().empty() ? U" " : from_utf8(piece.surface());
  }
  if (missing.empty()) return labels;
  throw UnknownCharacters("that no piece of text.model has", std::move(missing));
}

std::string SentencePieces::decode(std::span<const std::int32_t> labels) const {
  std::vector<int> pieces;
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= this->labels())
      throw DataError(
          fmt::format("label {} is none of the {} of text.model", label, this->labels()));
    if (label == kNoText || pieces_->IsUnknown(label - 1) || pieces_->IsControl(label - 1))
      continue;
    pieces.push_back(label - 1);
  }
  std::string decoded;
  const auto status = pieces_->Decode(pieces, &decoded);
  if (!status.ok())
    throw DataError(fmt::format("the labels can't be decoded: {}", status.message()));
  std::u32string text = from_utf8(decoded);
  std::ranges::replace_if(text, is_space, U' ');  // a transcript is one line
  return to_utf8(text);
}

std::string train_pieces(const std::vector<std::string>& texts, const PieceTraining& training) {
  if (training.kind != "unigram" && training.kind != "bpe")
    throw ConfigError(fmt::format("pieces of kind \"{}\"; known are unigram, bpe", training.kind));
  const int min = min_pieces(texts);
  if (training.pieces < min)
    throw ConfigError(fmt::format(
        "{} are too few: each character of the transcripts, a space and <unk> need one, "
        "which are {}",
        counted(training.pieces, "piece"), min));
  Texts iterator(texts);
  std::string model;
  const auto trained =
      sentencepiece::SentencePieceTrainer::Train(options_of(training), &iterator, &model);
  sentencepiece::SentencePieceProcessor made;
  const auto status = trained.ok() ? made.LoadFromSerializedProto(model) : trained;
  if (!status.ok())
    throw DataError(fmt::format("no pieces can be made of the transcripts: {}", status.message()));
  if (made.GetPieceSize() < training.pieces)
    throw ConfigError(fmt::format(
        "{} are too many for so little text: the transcripts give at most {} of kind {}",
        counted(training.pieces, "piece"), made.GetPieceSize(), training.kind));
  return model;
}

}  // namespace penstock::runtime
