#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// The merges of BPE in the form of the tokenizers library: pairs of pieces that are joined, the
/// lower rank first.
class Merges {
 public:
  using Pair = std::pair<std::string, std::string>;

  /// Takes `pairs` in the order of their ranks. If a pair occurs twice, the later rank applies.
  explicit Merges(const std::vector<Pair>& pairs);

  std::optional<int> rank(const std::string& left, const std::string& right) const;

  /// Merges a text's characters until two pieces are left, and returns them; nothing if that does
  /// not happen. The text becomes one piece only by merging this pair, whatever surrounds it: until
  /// a merge crosses its borders, the merges within it are those of the text alone.
  [[nodiscard]] std::optional<Pair> last_pair(std::string_view text) const;

 private:
  std::unordered_map<std::string, int> ranks_;
};

/// Converts BPE in the form of SentencePiece to merges. SentencePiece joins any two pieces that
/// spell a third, the one with the higher score first. The equivalent merges join, for each piece,
/// the one pair from which it arises, in the order of scores.
[[nodiscard]] std::vector<Merges::Pair> merges_of_scores(
    const std::vector<std::pair<std::string, float>>& pieces);

}  // namespace penstock::runtime
