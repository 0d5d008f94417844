#include "runtime/text/byte_pairs/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/unicode.h"

// Tokens lie in the order of their texts, so those that go on as a text does are neighbours, and
// each character narrows them. This takes few steps at most places, since hardly any has a token's
// first character.

namespace penstock::runtime {

AddedTokens::AddedTokens(std::vector<Entry> entries) : entries_(std::move(entries)) {
  std::ranges::stable_sort(entries_, {}, &Entry::text);
}

const AddedTokens::Entry* AddedTokens::find(std::u32string_view text) const {
  const Entry* longest = nullptr;
  auto begin = entries_.begin(), end = entries_.end();
  for (std::size_t length = 0; length < text.size() && begin != end; ++length) {
    const auto character = [&](const Entry& entry) -> std::int64_t {
      return entry.text.size() > length ? std::int64_t{entry.text[length]} : -1;
    };
    const auto same =
        std::ranges::equal_range(begin, end, std::int64_t{text[length]}, {}, character);
    begin = same.begin();
    end = same.end();
    if (begin != end && begin->text.size() == length + 1) longest = &*begin;
  }
  return longest;
}

std::vector<TextPart> AddedTokens::parts(std::u32string_view text) const {
  std::vector<TextPart> parts;
  std::size_t done = 0;
  for (std::size_t at = 0; at < text.size();) {
    const Entry* entry = find(text.substr(at));
    if (entry == nullptr) {
      ++at;
      continue;
    }
    std::size_t begin = at, end = at + entry->text.size();
    at = end;
    if (entry->token.takes_spaces_before)
      while (begin > done && is_white_space(text[begin - 1])) --begin;
    if (entry->token.takes_spaces_after)
      while (end < text.size() && is_white_space(text[end])) ++end;
    if (done < begin) parts.push_back({text.substr(done, begin - done)});
    parts.push_back({text.substr(begin, end - begin), entry->token.id});
    done = end;
    at = std::max(at, done);
  }
  if (done < text.size()) parts.push_back({text.substr(done)});
  return parts;
}

}  // namespace penstock::runtime
