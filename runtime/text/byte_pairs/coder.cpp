#include "runtime/text/byte_pairs/coder.h"

#include <utility>

#include "base/unicode.h"
#include "runtime/text/byte_pairs/byte_alphabet.h"
#include "runtime/text/byte_pairs/word_split.h"

namespace penstock::runtime {

BytePairCoder::BytePairCoder(BytePairModel model) : model_(std::move(model)), merging_(model_) {
  for (const std::string& token : model_.tokens) bytes_.push_back(bytes_of_token(token));
  std::vector<AddedTokens::Entry> before, after;
  for (const AddedToken& token : model_.added) {
    std::u32string text = from_utf8(token.text);
    if (token.normalized && model_.composes) text = composed(text, false);
    bytes_[static_cast<std::size_t>(token.id)] = bytes_of_token(to_utf8(text));
    (token.normalized ? after : before).push_back({std::move(text), token});
  }
  before_ = AddedTokens(std::move(before));
  after_ = AddedTokens(std::move(after));
}

void BytePairCoder::append_words(std::u32string_view text, std::vector<std::int32_t>& ids) const {
  std::u32string spaced;
  if (model_.prefix_space && !text.starts_with(U' ')) {
    spaced = U' ';
    spaced += text;
    text = spaced;
  }
  for (const std::u32string_view word : split_words(text, model_.split))
    merging_.append_ids(to_utf8(word), ids);
}

std::vector<std::int32_t> BytePairCoder::encode(std::string_view text) const {
  std::vector<std::int32_t> ids;
  const std::u32string characters = from_utf8(text);
  for (const TextPart& part : before_.parts(characters)) {
    if (part.id) {
      ids.push_back(*part.id);
      continue;
    }
    const std::u32string normalised =
        model_.composes ? composed(part.text, false) : std::u32string(part.text);
    for (const TextPart& inner : after_.parts(normalised)) {
      if (inner.id)
        ids.push_back(*inner.id);
      else
        append_words(inner.text, ids);
    }
  }
  return ids;
}

const std::string& BytePairCoder::bytes(std::int32_t id) const {
  return bytes_.at(static_cast<std::size_t>(id));
}

std::string BytePairCoder::decode(std::span<const std::int32_t> ids) const {
  std::string text;
  for (const std::int32_t id : ids)
    if (id >= 0 && static_cast<std::size_t>(id) < bytes_.size()) text += bytes(id);
  return repaired_utf8(text);
}

}  // namespace penstock::runtime
