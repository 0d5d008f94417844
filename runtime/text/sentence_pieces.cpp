#include "runtime/text/sentence_pieces.h"

#include <fmt/format.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/read_file.h"
#include "base/utf8.h"
#include "runtime/text/folded_text.h"
#include "runtime/text/unknown_characters.h"

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

std::vector<std::string> SentencePieces::pieces() const {
  std::vector<std::string> pieces;
  for (int i = 0; i < pieces_->GetPieceSize(); ++i) pieces.push_back(pieces_->IdToPiece(i));
  return pieces;
}

std::string SentencePieces::normalised(std::string_view text) const { return decode(encode(text)); }

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
    if (label == kBlank || pieces_->IsUnknown(label - 1) || pieces_->IsControl(label - 1)) continue;
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

}  // namespace penstock::runtime
