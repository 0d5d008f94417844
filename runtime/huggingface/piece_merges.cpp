#include "runtime/huggingface/piece_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "base/unicode.h"

// Byte-pair encoding (Sennrich et al. 2016) splits a text into characters and merges neighbours,
// best pair first. tokenizer.json ranks pairs, and SentencePiece scores the merged pieces. The two
// are equal if each piece arises from one pair only. That pair is found by encoding the piece
// itself until two parts are left. For example, with the pairs (l, o) and (lo, w) in this order,
// "low" becomes lo w, and its pair is (lo, w).

namespace penstock::runtime {
namespace {

using RankOf = std::function<std::optional<int>(const std::string&, const std::string&)>;

constexpr char kBetween = '\0';  // separates the two pieces of a pair in a key

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> symbols;
  for (const char32_t character : decode_utf8(text).characters)
    symbols.push_back(to_utf8({&character, 1}));
  return symbols;
}

/// Returns the place of the first pair among those with the lowest rank.
std::optional<std::size_t> best_pair(const std::vector<std::string>& symbols, const RankOf& rank) {
  std::optional<std::size_t> best;
  int lowest = 0;
  for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
    const std::optional<int> found = rank(symbols[i], symbols[i + 1]);
    if (!found || (best && *found >= lowest)) continue;
    best = i;
    lowest = *found;
  }
  return best;
}

/// Merges the characters of `text`, lowest rank first, until two pieces are left. Takes O(n²) ranks
/// for n characters, so a text of more than kLongest is refused: CheckpointError.
std::optional<Merges::Pair> pair_left(std::string_view text, const RankOf& rank) {
  constexpr std::size_t kLongest = 1024;
  std::vector<std::string> symbols = characters_of(text);
  if (symbols.size() > kLongest)
    throw CheckpointError(fmt::format("its piece '{}…' has {} characters, more than {}",
                                      to_utf8(decode_utf8(text).characters.substr(0, 20)),
                                      symbols.size(), kLongest));
  while (symbols.size() > 2) {
    const std::optional<std::size_t> at = best_pair(symbols, rank);
    if (!at) return std::nullopt;
    symbols[*at] += symbols[*at + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(*at) + 1);
  }
  if (symbols.size() < 2) return std::nullopt;
  return Merges::Pair{symbols[0], symbols[1]};
}

}  // namespace

Merges::Merges(const std::vector<Pair>& pairs) {
  for (std::size_t i = 0; i < pairs.size(); ++i)
    ranks_[pairs[i].first + kBetween + pairs[i].second] = static_cast<int>(i);
}

std::optional<int> Merges::rank(const std::string& left, const std::string& right) const {
  const auto found = ranks_.find(left + kBetween + right);
  if (found == ranks_.end()) return std::nullopt;
  return found->second;
}

std::optional<Merges::Pair> Merges::last_pair(std::string_view text) const {
  return pair_left(text, [this](const auto& left, const auto& right) { return rank(left, right); });
}

// Every piece is decomposed once, as if it were the whole text. The pair that remains at the end is
// its merge, and the pieces' order by score is the order of the merges.
std::vector<Merges::Pair> merges_of_scores(
    const std::vector<std::pair<std::string, float>>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return pieces[i].second; });
  std::unordered_map<std::string, int> ranks;
  for (std::size_t i = 0; i < order.size(); ++i)
    ranks.emplace(pieces[order[i]].first, static_cast<int>(i));
  const RankOf rank = [&](const auto& left, const auto& right) -> std::optional<int> {
    const auto found = ranks.find(left + right);
    if (found == ranks.end()) return std::nullopt;
    return found->second;
  };
  std::vector<Merges::Pair> merges;
  for (const std::size_t i : order) {
    const auto pair = pair_left(pieces[i].first, rank);
    if (pair && ranks.contains(pair->first) && ranks.contains(pair->second))
      merges.push_back(*pair);
  }
  return merges;
}

}  // namespace penstock::runtime
