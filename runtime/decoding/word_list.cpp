#include "runtime/decoding/word_list.h"

#include <algorithm>
#include <utility>

// A beginning is a range of the sorted words, since those with equal first bytes are neighbours. A
// byte more halves its way to the new range, in about log2 of the words' number steps. It needs no
// memory beside the words.

namespace penstock::runtime {

int count_characters(std::string_view bytes) {
  return static_cast<int>(std::ranges::count_if(
      bytes, [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }));
}

WordList::WordList(std::vector<std::string> words) : words_(std::move(words)) {
  std::ranges::sort(words_);
  words_.erase(std::ranges::unique(words_).begin(), words_.end());
  std::erase(words_, "");
}

WordList::Beginning WordList::extended(Beginning beginning, std::string_view bytes) const {
  for (const char byte : bytes) {
    const std::size_t at = beginning.bytes++;
    // A word that ends here comes before all longer ones, as if its next byte were below all
    // others.
    const auto next = [at](const std::string& word) {
      return at < word.size() ? static_cast<unsigned char>(word[at]) : -1;
    };
    const auto first = words_.begin() + static_cast<std::ptrdiff_t>(beginning.low),
               last = words_.begin() + static_cast<std::ptrdiff_t>(beginning.high);
    const auto range =
        std::ranges::equal_range(first, last, int{static_cast<unsigned char>(byte)}, {}, next);
    beginning.low = static_cast<std::size_t>(range.begin() - words_.begin());
    beginning.high = static_cast<std::size_t>(range.end() - words_.begin());
  }
  return beginning;
}

std::optional<std::size_t> WordList::place(const Beginning& beginning) const {
  if (!beginning.begins_words() || words_[beginning.low].size() != beginning.bytes)
    return std::nullopt;
  return beginning.low;
}

}  // namespace penstock::runtime
