#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/encoded_text.h"
#include "base/error.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/piece_merges.h"
#include "runtime/huggingface/piece_model.h"

namespace penstock::runtime {
namespace {

using TokenizerJson = nlohmann::json;

// A tokenizer.json is a pipeline of normalizer, pre-tokenizer, model and decoder. It equals a
// SentencePiece model only if every step is one that SentencePiece has. So each step is either
// recognised here or refused, and nothing is approximated. For BPE, each merge must be the one that
// SentencePiece would choose for its piece; the merge's rank then becomes the piece's score.

constexpr std::string_view kSpace = "▁";
constexpr int kBytes = 256;  // number of pieces "<0x00>" to "<0xFF>"

[[noreturn]] void throw_no_pieces(const std::string& what) { throw CheckpointError(what); }

/// Throws an error that names a part of the file. Long tables and lists are not printed.
[[noreturn]] void throw_not_sentencepiece(std::string_view part, const TokenizerJson& json) {
  constexpr std::size_t kMax = 100;
  const std::string text = json.dump();
  if (text.size() <= kMax || !json.is_object())
    throw_no_pieces(fmt::format("its {} is {}", part, text));
  throw_no_pieces(fmt::format("its {} is a {}", part, json.value("type", "table")));
}

/// Returns a member; null if it does not exist.
TokenizerJson member(const TokenizerJson& json, const char* key) {
  const auto found = json.find(key);
  return found == json.end() ? TokenizerJson() : *found;
}

std::string type_of(const TokenizerJson& json) { return json.value("type", std::string()); }

/// Returns the steps of a Sequence, or the single step.
std::vector<TokenizerJson> steps_of(const TokenizerJson& json, const char* list) {
  if (json.is_null()) return {};
  if (type_of(json) != "Sequence") return {json};
  std::vector<TokenizerJson> steps;
  for (const TokenizerJson& step : json.at(list))
    for (TokenizerJson& inner : steps_of(step, list)) steps.push_back(std::move(inner));
  return steps;
}

bool replaces(const TokenizerJson& step, const char* kind, std::string_view from,
              std::string_view to) {
  return type_of(step) == "Replace" && step.at("pattern").value(kind, std::string()) == from &&
         step.value("content", std::string()) == to;
}

/// True if a Metaspace step prepends a space to the text.
bool prepends(const TokenizerJson& metaspace) {
  if (metaspace.value("replacement", std::string(kSpace)) != kSpace)
    throw_not_sentencepiece("space", metaspace.at("replacement"));
  const TokenizerJson scheme = member(metaspace, "prepend_scheme");
  if (scheme.is_null()) return metaspace.value("add_prefix_space", true);
  return scheme != "never";
}

/// Reads the steps that change a text before it is split into pieces. Texts have single spaces and
/// none at their ends, so steps that only ensure this have no effect and are accepted.
class Spaces {
 public:
  Spaces(const TokenizerJson& tokenizer, ModelProto& model) : model_(model) {
    model.dummy_prefix = false;
    for (const TokenizerJson& step : steps_of(member(tokenizer, "normalizer"), "normalizers"))
      normalise(step);
    for (const TokenizerJson& step : steps_of(member(tokenizer, "pre_tokenizer"), "pretokenizers"))
      split(step);
    if (!marked_)
      throw_no_pieces("neither its normalizer nor its pre_tokenizer makes a '▁' of a space");
  }

  /// True if no piece extends beyond the end of a word.
  bool words_apart() const { return words_apart_; }

 private:
  void normalise(const TokenizerJson& step) {
    if (type_of(step) == "Precompiled" && !marked_ && model_.charsmap.empty()) {
      const auto map = from_base64(step.at("precompiled_charsmap").get<std::string>());
      if (!map) throw_no_pieces("its precompiled_charsmap is no base64");
      model_.charsmap = *map;
    } else if (type_of(step) == "Prepend" && step.value("prepend", std::string()) == kSpace) {
      model_.dummy_prefix = true;
    } else if (replaces(step, "String", " ", kSpace)) {
      marked_ = true;
    } else if (type_of(step) != "Strip" && !replaces(step, "Regex", " {2,}", kSpace) &&
               !replaces(step, "Regex", " {2,}", " ")) {
      throw_not_sentencepiece("normalizer", step);
    }
  }

  void split(const TokenizerJson& step) {
    if (type_of(step) != "Metaspace") throw_not_sentencepiece("pre_tokenizer", step);
    model_.dummy_prefix = prepends(step) || model_.dummy_prefix;
    words_apart_ = step.value("split", true);
    marked_ = true;
  }

  ModelProto& model_;
  bool marked_ = false, words_apart_ = false;
};

/// Checks the decoder's steps. They only determine whether all leading spaces are removed, or one.
void take_decoder(const TokenizerJson& tokenizer, ModelProto& model) {
  model.remove_extra_spaces = false;
  for (const TokenizerJson& step : steps_of(member(tokenizer, "decoder"), "decoders")) {
    const std::string type = type_of(step);
    if (type == "Metaspace") {
      (void)prepends(step);
    } else if (type == "Strip" && step.value("content", std::string()) == " " &&
               step.value("stop", 0) == 0) {
      model.remove_extra_spaces = step.value("start", 0) > 1;
    } else if (type != "ByteFallback" && type != "Fuse" && !replaces(step, "String", kSpace, " ")) {
      throw_not_sentencepiece("decoder", step);
    }
  }
}

std::optional<int> byte_of(const std::string& token) {
  for (int byte = 0; byte < kBytes; ++byte)
    if (token.size() == 6 && token == fmt::format("<0x{:02X}>", byte)) return byte;
  return std::nullopt;
}

/// Returns the special tokens, which the tokenizers library finds before it splits text into
/// pieces.
std::set<std::string> special_tokens(const TokenizerJson& tokenizer, const std::string& blank,
                                     const std::string& unknown) {
  std::set<std::string> special;
  for (const TokenizerJson& token : tokenizer.value("added_tokens", TokenizerJson::array())) {
    const auto content = token.at("content").get<std::string>();
    if (content == blank || content == unknown) continue;
    if (!token.value("special", false))
      throw_no_pieces(fmt::format("its added token '{}' is not special", content));
    special.insert(content);
  }
  return special;
}

/// Adds the tokens as pieces. Their scores are set later.
void add_pieces(const TokenizerJson& tokenizer, const Vocabulary& vocabulary, std::int64_t blank,
                const std::string& unknown, ModelProto& model) {
  const std::string& pad = vocabulary.tokens.at(static_cast<std::size_t>(blank));
  if (unknown == pad) throw_no_pieces("its unk_token is the blank");
  const std::set<std::string> special = special_tokens(tokenizer, pad, unknown);
  int bytes = 0;
  for (std::size_t row = 0; row < vocabulary.tokens.size(); ++row) {
    if (row == static_cast<std::size_t>(blank)) continue;
    Piece& piece = model.pieces.emplace_back(Piece{.text = vocabulary.tokens[row]});
    if (piece.text == unknown) {
      piece.type = PieceType::unknown;
    } else if (special.contains(piece.text)) {
      piece.type = PieceType::control;
    } else if (model.byte_fallback && byte_of(piece.text)) {
      piece.type = PieceType::byte;
      ++bytes;
    }
  }
  if (bytes > 0 && bytes < kBytes)
    throw_no_pieces(fmt::format("it falls back on bytes, and has {} of the {}", bytes, kBytes));
  model.byte_fallback = bytes > 0;
}

std::vector<Merges::Pair> merges_of(const TokenizerJson& bpe) {
  std::vector<Merges::Pair> pairs;
  for (const TokenizerJson& merge : bpe.at("merges")) {
    if (merge.is_array()) {
      pairs.emplace_back(merge.at(0), merge.at(1));
      continue;
    }
    const auto both = merge.get<std::string>();  // the form of earlier versions
    const std::size_t space = both.find(' ');
    if (space == std::string::npos) throw_not_sentencepiece("merge", merge);
    pairs.emplace_back(both.substr(0, space), both.substr(space + 1));
  }
  return pairs;
}

/// Turns merges into scores. SentencePiece joins any two pieces that spell a piece, the higher
/// score first. So each piece must arise from a single pair, whose rank becomes its score.
void score_by_merges(const TokenizerJson& bpe, ModelProto& model) {
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"})
    if (const TokenizerJson text = member(bpe, affix); !text.is_null() && text != "")
      throw_not_sentencepiece(affix, text);
  if (bpe.value("ignore_merges", false)) throw_no_pieces("its ignore_merges is true");
  const std::vector<Merges::Pair> pairs = merges_of(bpe);
  const Merges merges(pairs);
  auto never = static_cast<float>(pairs.size());  // scores of pieces that no pair yields
  for (Piece& piece : model.pieces) {
    if (piece.type != PieceType::normal) continue;
    piece.score = -never++;
    const auto pair = merges.last_pair(piece.text);
    if (!pair) continue;
    const std::optional<int> rank = merges.rank(pair->first, pair->second);
    if (!rank)
      throw_no_pieces(
          fmt::format("its merges never make '{}' of '{}' and '{}', as SentencePiece would",
                      piece.text, pair->first, pair->second));
    piece.score = -static_cast<float>(*rank);
  }
}

void take_scores(const TokenizerJson& unigram, std::int64_t blank, ModelProto& model) {
  const TokenizerJson& vocabulary = unigram.at("vocab");
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const std::size_t row = i < static_cast<std::size_t>(blank) ? i : i + 1;
    if (row < vocabulary.size()) {
      model.pieces[i].score = vocabulary[row].at(1).get<float>();
    } else if (model.pieces[i].type == PieceType::normal) {
      throw_no_pieces(fmt::format("its token '{}' has no score", model.pieces[i].text));
    }
  }
}

std::string unknown_of(const TokenizerJson& model, const Vocabulary& vocabulary) {
  const TokenizerJson unknown = member(model, type_of(model) == "BPE" ? "unk_token" : "unk_id");
  if (unknown.is_null()) throw_no_pieces("it has no token for what is unknown");
  if (!unknown.is_string() && !unknown.is_number_unsigned())
    throw_not_sentencepiece("token for what is unknown", unknown);
  auto token = unknown.is_string() ? unknown.get<std::string>()
                                   : vocabulary.tokens.at(unknown.get<std::size_t>());
  if (std::ranges::find(vocabulary.tokens, token) == vocabulary.tokens.end())
    throw_no_pieces(fmt::format("its unk_token '{}' is no token", token));
  return token;
}

ModelProto model_of_json(const TokenizerJson& tokenizer, const Vocabulary& vocabulary,
                         std::int64_t blank) {
  const TokenizerJson& theirs = tokenizer.at("model");
  if (type_of(theirs) != "BPE" && type_of(theirs) != "Unigram")
    throw_not_sentencepiece("model", theirs.at("type"));
  ModelProto model;
  const Spaces spaces(tokenizer, model);
  take_decoder(tokenizer, model);
  model.byte_fallback = theirs.value("byte_fallback", false);
  model.bpe = type_of(theirs) == "BPE";
  add_pieces(tokenizer, vocabulary, blank, unknown_of(theirs, vocabulary), model);
  for (const Piece& piece : model.pieces)
    if (spaces.words_apart() && piece.type == PieceType::normal &&
        piece.text.find(kSpace, 1) != std::string::npos)
      throw_no_pieces(fmt::format("its piece '{}' goes over the end of a word", piece.text));
  if (model.bpe) {
    score_by_merges(theirs, model);
  } else {
    take_scores(theirs, blank, model);
  }
  return model;
}

}  // namespace

ModelProto model_of_tokenizer(const std::filesystem::path& folder, const Vocabulary& vocabulary,
                              std::int64_t blank) {
  const auto file = folder / kTokenizer;
  try {
    return model_of_json(TokenizerJson::parse(json_text_of_file(file)), vocabulary, blank);
  } catch (const TokenizerJson::exception& error) {
    throw_fault(file, fmt::format("is no tokenizer that penstock reads: {}", error.what()));
  } catch (const std::out_of_range&) {
    throw_fault(file, "has an unk_id that is none of its tokens");
  }
}

}  // namespace penstock::runtime
