#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Returns the number of characters that begin in UTF-8 bytes.
[[nodiscard]] int count_characters(std::string_view bytes);

/// Words in the order of their bytes, in which beginnings are found byte by byte.
class WordList {
 public:
  /// A beginning of words: those from `low` on and before `high` begin with it.
  struct Beginning {
    std::size_t low = 0, high = 0, bytes = 0;

    bool begins_words() const { return low < high; }
  };

  /// The words may be in any order, and may repeat; an empty one is left out.
  explicit WordList(std::vector<std::string> words);

  std::size_t size() const { return words_.size(); }
  const std::string& word(std::size_t place) const { return words_.at(place); }

  /// Returns the empty beginning, which all words have.
  Beginning start() const { return {0, words_.size(), 0}; }
  /// Returns a beginning with these bytes more.
  Beginning extended(Beginning beginning, std::string_view bytes) const;
  /// Returns the place of the word that is no longer than the beginning, if there is one.
  std::optional<std::size_t> place(const Beginning& beginning) const;

 private:
  std::vector<std::string> words_;
};

}  // namespace penstock::runtime
