#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/decoding/word_scores.h"

namespace penstock::runtime {

/// Beginnings of texts, as nodes of a tree that grows label by label. Node 0 is the empty text. A
/// space after a space, or at the start, adds nothing: texts are compared as transcripts are
/// written, with one space between words.
class TextTree {
 public:
  static constexpr int kEmpty = 0;

  /// `texts` has what each label adds to a text, label 0 first: Label::text. `scores`, if there
  /// are any, score the words of texts. Both must outlive the tree.
  explicit TextTree(std::span<const std::string> texts, const WordScores* scores = nullptr);

  /// Returns the node of a text with one label more, which is the node itself where a space adds
  /// nothing. References to it stay valid until keep().
  int child(int node, std::int32_t label);

  /// Returns the label at the end of a text. At the empty text it is the space that adds nothing,
  /// or -1 if no label is a space.
  std::int32_t last(int node) const { return at(node).label; }

  /// Returns the labels of a text, without a space at its end.
  std::vector<std::int32_t> labels(int node) const;

  /// Returns what the words of a text that goes on add to its score, and of one that ends here.
  double score(int node) const { return at(node).score; }
  double ended_score(int node) const;

  /// Forgets the nodes that lead to none of these and are no children of them.
  void keep(std::span<const int> nodes);

 private:
  struct Node {
    int parent = -1;
    std::int32_t label = -1;
    bool used = true;        // not in free_
    std::uint64_t kept = 0;  // number of the last keep() that named it
    WordScores::State words = {};
    double score = 0;
    std::vector<std::pair<std::int32_t, int>> children = {};
  };

  Node& at(int node) { return nodes_[static_cast<std::size_t>(node)]; }
  const Node& at(int node) const { return nodes_[static_cast<std::size_t>(node)]; }
  bool is_space(std::int32_t label) const;
  int add(const Node& node);
  void free(int node);
  void purge(int node);

  std::span<const std::string> texts_;
  const WordScores* scores_;
  std::vector<Node> nodes_;
  std::vector<int> free_, kept_;
  std::uint64_t keeps_ = 0;
};

}  // namespace penstock::runtime
