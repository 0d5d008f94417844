#include "runtime/text/byte_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"
#include "base/unicode.h"
#include "runtime/text/byte_pairs/folder.h"

// Ids count from 0, and label 0 is the loss's own, so id i is label i + 1, as with SentencePiece.
// Ids that a vocabulary leaves out are labels that no text has.

namespace penstock::runtime {
namespace {

[[noreturn]] void throw_unusable_model(const std::string& path, const std::string& reason) {
  throw ConfigError(fmt::format(
      "text.model = {}: {}; it must name the tokenizer.json of a byte-level BPE, or a folder with "
      "it or with vocab.json and merges.txt",
      path, reason));
}

std::string json_at(const std::string& path) try {
  return byte_pairs_at(path);
} catch (const FileError& error) {
  throw_unusable_model(path, error.what());
} catch (const DataError& error) {
  throw_unusable_model(path, error.what());
}

BytePairModel parsed(std::string_view json, const std::string& path) try {
  return parse_byte_pairs(json);
} catch (const DataError& error) {
  throw_unusable_model(path, error.what());
}

/// True for Whisper's times, "<|", seconds with hundredths, and "|>". They are no special tokens in
/// its files, and transformers removes them by this form.
bool is_time(std::string_view token) {
  if (!token.starts_with("<|") || !token.ends_with("|>") || token.size() < 7) return false;
  const std::string_view seconds = token.substr(2, token.size() - 4);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const std::size_t point = seconds.find('.');
  return point != std::string_view::npos && point > 0 && point + 1 < seconds.size() &&
         std::ranges::all_of(seconds.substr(0, point), is_digit) &&
         std::ranges::all_of(seconds.substr(point + 1), is_digit);
}

}  // namespace

BytePairs::BytePairs(const configs::TextConfig& config)
    : BytePairs(json_at(config.model), config) {}

BytePairs::BytePairs(std::string tokenizer_json, const configs::TextConfig& config)
    : rules_(configs::text_rules(config)),
      json_(std::move(tokenizer_json)),
      coder_(parsed(json_, config.model)),
      symbols_(coder_.model().tokens.size()) {
  for (const AddedToken& token : coder_.model().added)
    symbols_[static_cast<std::size_t>(token.id)] = token.special || is_time(token.text);
}

int BytePairs::labels() const { return static_cast<int>(coder_.model().tokens.size()) + 1; }

// A token may be a part of a character, which is no text by itself.
std::vector<Label> BytePairs::vocabulary() const {
  std::vector<Label> all(1);
  for (std::int32_t id = 0; id + 1 < labels(); ++id) {
    const auto at = static_cast<std::size_t>(id);
    const std::string& token = coder_.model().tokens[at];
    const std::string& bytes = coder_.bytes(id);
    const bool is_text = !symbols_[at] && !decode_utf8(bytes).wrong_byte;
    all.push_back({token.empty() ? fmt::format("<{}>", id) : token, is_text ? bytes : ""});
  }
  return all;
}

std::string BytePairs::normalised(std::string_view text) const { return decode(encode(text)); }

std::vector<std::int32_t> BytePairs::encode(std::string_view text) const {
  std::vector<std::int32_t> labels = coder_.encode(to_utf8(folded_text(text, rules_)));
  for (std::int32_t& label : labels) ++label;
  return labels;
}

std::string BytePairs::decode(std::span<const std::int32_t> labels) const {
  std::vector<std::int32_t> ids;
  for (const std::int32_t label : labels) {
    if (label < 0 || label >= this->labels())
      throw DataError(
          fmt::format("label {} is none of the {} of text.model", label, this->labels()));
    if (label != kNoText && !symbols_[static_cast<std::size_t>(label) - 1])
      ids.push_back(label - 1);
  }
  std::u32string text = from_utf8(coder_.decode(ids));
  std::ranges::replace_if(text, is_space, U' ');
  const std::size_t begin = std::min(text.find_first_not_of(U' '), text.size());
  return to_utf8(text.substr(begin, text.find_last_not_of(U' ') + 1 - begin));
}

}  // namespace penstock::runtime
