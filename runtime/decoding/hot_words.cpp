#include "runtime/decoding/hot_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "base/file_handle.h"

// The words are sorted, so those with one beginning are a range of the list, and the shortest of
// them is looked for within it. A search asks once for each text that it makes.

namespace penstock::runtime {

HotWords::HotWords(std::vector<std::string> words, double score)
    : words_(std::move(words)), score_(score) {
  for (std::size_t i = 0; i < words_.size(); ++i)
    characters_.push_back(count_characters(words_.word(i)));
}

double HotWords::ended_score(const WordList::Beginning& word) const {
  return words_.place(word) ? score_ : 0;
}

double HotWords::score(const WordList::Beginning& word, int characters) const {
  if (!word.begins_words()) return 0;
  const auto low = static_cast<std::ptrdiff_t>(word.low),
             high = static_cast<std::ptrdiff_t>(word.high);
  const int shortest = *std::min_element(characters_.begin() + low, characters_.begin() + high);
  return score_ * characters / shortest;
}

std::vector<std::string> read_hot_words(const std::filesystem::path& file,
                                        const Tokenizer& tokenizer) {
  std::string text;
  try {
    text = read_file(file);
  } catch (const FileError& error) {
    throw ConfigError(fmt::format("--hot-words: {}", error.what()));
  }
  const std::string byte_order_mark = "\xEF\xBB\xBF";
  if (text.starts_with(byte_order_mark)) text.erase(0, byte_order_mark.size());
  std::istringstream lines(text);
  std::vector<std::string> words;
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) try {
      const std::string written = tokenizer.normalised(line);
      if (!written.empty()) (void)tokenizer.encode(line);  // throws if a character has no label
      std::istringstream from(written);
      for (std::string word; from >> word;) words.push_back(word);
    } catch (const DataError& error) {
      throw ConfigError(
          fmt::format("--hot-words: {}, line {}: {}", file.string(), number, error.what()));
    }
  if (words.empty())
    throw ConfigError(fmt::format(
        "--hot-words: {} has no words: write one in each line, or leave out --hot-words",
        file.string()));
  return words;
}

}  // namespace penstock::runtime
