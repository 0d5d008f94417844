#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/encoded_text.h"
#include "base/error.h"
#include "base/unicode.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/piece_merges.h"
#include "runtime/huggingface/write_tokenizer.h"

// A SentencePiece model is a few properties and a list of pieces; tokenizer.json is a chain of
// steps. Each property becomes a step: normalisation and spaces in the normalizer, the marks of
// words in the pre-tokenizer, bytes and spaces again in the decoder. Scores stay scores in a
// unigram model. BPE becomes a list of merges in the order of scores (piece_merges.h). The blank is
// one more piece, inserted at its row, so pieces after it move by one.

namespace penstock::runtime {
namespace {

using OrderedTokenizer = nlohmann::ordered_json;

constexpr const char* kSpaceMark = "▁";  // represents a space
constexpr int kAllSpaces = 1'000'000;

void check_expressible(const ModelProto& model) {
  const char* what = nullptr;
  if (model.spaces_after_words) what = "puts spaces after words";
  if (!model.escape_spaces) what = "leaves spaces as they are";
  if (std::ranges::find(model.pieces, PieceType::unused, &Piece::type) != model.pieces.end())
    what = "has unused pieces";
  if (std::ranges::any_of(model.pieces, [](const Piece& piece) {
        return decode_utf8(piece.text).wrong_byte.has_value();
      }))
    what = "has a piece that is not UTF-8";
  if (what != nullptr)
    throw ConfigError(fmt::format(
        "text.model {}, which no tokenizer.json says: train with another model of pieces", what));
}

/// Returns the pieces of all rows. The blank is a control symbol.
std::vector<Piece> pieces_of_rows(const ModelProto& model, const HeadRows& rows) {
  std::vector<Piece> pieces = model.pieces;
  const auto count = static_cast<std::size_t>(rows.count) - 1;
  while (pieces.size() < count) {
    const float last = pieces.back().score;
    pieces.push_back({fmt::format("<{}>", pieces.size() + 1), last - 1});
  }
  std::string pad(rows.blank_token);
  while (std::ranges::find(pieces, pad, &Piece::text) != pieces.end())
    pad = fmt::format("{}_>", pad.substr(0, pad.size() - 1));
  pieces.insert(pieces.begin() + rows.blank, {pad, 0, PieceType::control});
  return pieces;
}

OrderedTokenizer replacement(const OrderedTokenizer& pattern, const char* content) {
  return {{"type", "Replace"}, {"pattern", pattern}, {"content", content}};
}

OrderedTokenizer sequence(const char* list, std::vector<OrderedTokenizer> steps) {
  if (steps.empty()) return nullptr;
  return {{"type", "Sequence"}, {list, std::move(steps)}};
}

/// The reverse of model_of_tokenizer(), see read_tokenizer.cpp: each property of the model becomes
/// a step of normalizer, pre-tokenizer or decoder.
OrderedTokenizer normalizer_of(const ModelProto& model) {
  std::vector<OrderedTokenizer> steps;
  if (!model.charsmap.empty())
    steps.push_back({{"type", "Precompiled"}, {"precompiled_charsmap", to_base64(model.charsmap)}});
  if (model.remove_extra_spaces) {
    steps.push_back({{"type", "Strip"}, {"strip_left", true}, {"strip_right", true}});
    steps.push_back(replacement({{"Regex", " {2,}"}}, " "));
  }
  return sequence("normalizers", std::move(steps));
}

OrderedTokenizer decoder_of(const ModelProto& model) {
  std::vector<OrderedTokenizer> steps = {replacement({{"String", kSpaceMark}}, " ")};
  if (model.byte_fallback) steps.push_back({{"type", "ByteFallback"}});
  steps.push_back({{"type", "Fuse"}});
  const int dropped = model.remove_extra_spaces ? kAllSpaces : model.dummy_prefix ? 1 : 0;
  if (dropped > 0)
    steps.push_back({{"type", "Strip"}, {"content", " "}, {"start", dropped}, {"stop", 0}});
  return sequence("decoders", std::move(steps));
}

OrderedTokenizer metaspace_of(const ModelProto& model, const std::vector<Piece>& pieces) {
  const bool words_apart = std::ranges::none_of(pieces, [](const Piece& piece) {
    return piece.type == PieceType::normal && piece.text.find(kSpaceMark, 1) != std::string::npos;
  });
  return {{"type", "Metaspace"},
          {"replacement", kSpaceMark},
          {"prepend_scheme", model.dummy_prefix ? "always" : "never"},
          {"split", words_apart}};
}

OrderedTokenizer bpe_of(const ModelProto& model, const std::vector<Piece>& pieces,
                        const std::string& unknown) {
  OrderedTokenizer vocabulary = OrderedTokenizer::object();
  for (std::size_t row = 0; row < pieces.size(); ++row) vocabulary[pieces[row].text] = row;
  std::vector<std::pair<std::string, float>> scored;
  for (const Piece& piece : model.pieces)
    if (piece.type == PieceType::normal) scored.emplace_back(piece.text, piece.score);
  OrderedTokenizer merges = OrderedTokenizer::array();
  for (const auto& [left, right] : merges_of_scores(scored))
    merges.push_back(OrderedTokenizer::array({left, right}));
  return {{"type", "BPE"},
          {"dropout", nullptr},
          {"unk_token", unknown},
          {"continuing_subword_prefix", nullptr},
          {"end_of_word_suffix", nullptr},
          {"fuse_unk", true},
          {"byte_fallback", model.byte_fallback},
          {"ignore_merges", false},
          {"vocab", vocabulary},
          {"merges", merges}};
}

OrderedTokenizer unigram_of(const ModelProto& model, const std::vector<Piece>& pieces,
                            std::size_t unknown) {
  OrderedTokenizer vocabulary = OrderedTokenizer::array();
  for (const Piece& piece : pieces)
    vocabulary.push_back(OrderedTokenizer::array({piece.text, piece.score}));
  return {{"type", "Unigram"},
          {"unk_id", unknown},
          {"vocab", vocabulary},
          {"byte_fallback", model.byte_fallback}};
}

/// Returns the tokens that represent no text, and those that are found before text is split into
/// pieces.
OrderedTokenizer added_tokens_of(const std::vector<Piece>& pieces) {
  OrderedTokenizer added = OrderedTokenizer::array();
  for (std::size_t row = 0; row < pieces.size(); ++row) {
    const PieceType type = pieces[row].type;
    if (type == PieceType::normal || type == PieceType::byte) continue;
    added.push_back({{"id", row},
                     {"content", pieces[row].text},
                     {"single_word", false},
                     {"lstrip", false},
                     {"rstrip", false},
                     {"normalized", false},
                     {"special", type != PieceType::user_defined}});
  }
  return added;
}

}  // namespace

void write_piece_tokenizer(const std::filesystem::path& folder, std::string_view bytes,
                           const HeadRows& rows) {
  const ModelProto model = parse_model_bytes(bytes);
  check_expressible(model);
  const std::vector<Piece> pieces = pieces_of_rows(model, rows);
  const auto unknown = static_cast<std::size_t>(
      std::ranges::find(pieces, PieceType::unknown, &Piece::type) - pieces.begin());
  const std::string& unknown_text = pieces.at(unknown).text;
  const OrderedTokenizer tokenizer = {{"version", "1.0"},
                                      {"truncation", nullptr},
                                      {"padding", nullptr},
                                      {"added_tokens", added_tokens_of(pieces)},
                                      {"normalizer", normalizer_of(model)},
                                      {"pre_tokenizer", metaspace_of(model, pieces)},
                                      {"post_processor", nullptr},
                                      {"decoder", decoder_of(model)},
                                      {"model", model.bpe ? bpe_of(model, pieces, unknown_text)
                                                          : unigram_of(model, pieces, unknown)}};
  write_durably(folder / kTokenizer, tokenizer.dump(2) + "\n");
  std::vector<std::string> tokens;
  for (const Piece& piece : pieces) tokens.push_back(piece.text);
  OrderedTokenizer config(named_tokens(rows, tokens));
  config["tokenizer_class"] = "ParakeetTokenizer";
  config["unk_token"] = unknown_text;
  write_durably(folder / kTokenizerConfig, config.dump(2) + "\n");
  write_durably(folder / kTokenizerFile, bytes);
}

}  // namespace penstock::runtime
