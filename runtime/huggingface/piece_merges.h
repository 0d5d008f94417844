#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// BPE as tokenizers has it: which pairs of pieces become one, the lower rank first.
class Merges {
 public:
  using Pair = std::pair<std::string, std::string>;

  /// `pairs` in the order of their ranks; of a pair that comes twice, the later rank holds.
  explicit Merges(const std::vector<Pair>& pairs);

  std::optional<int> rank(const std::string& left, const std::string& right) const;

  /// The pair that a text's characters have become when two are left of them; nothing if no two
  /// are. Whatever stands around it, a text becomes one piece of these two only: merges within a
  /// text that none has crossed are those of the text alone.
  [[nodiscard]] std::optional<Pair> last_pair(std::string_view text) const;

 private:
  std::unordered_map<std::string, int> ranks_;
};

/// BPE as SentencePiece has it: any two pieces that spell a third may become it, that of the higher
/// score first. The same as merges: of each piece the one pair that it comes of, by score.
[[nodiscard]] std::vector<Merges::Pair> merges_of_scores(
    const std::vector<std::pair<std::string, float>>& pieces);

}  // namespace penstock::runtime
