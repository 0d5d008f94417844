#include "runtime/decoding/text_tree.h"

#include <algorithm>

// Children of a kept node stay, though a search may have dropped them, because it asks for most of
// them again at the next frame. A node that is kept no longer takes its childless children with it,
// and then goes itself if nothing hangs on it. So memory follows the beam and the length of the
// texts, not the number of frames times labels.

namespace penstock::runtime {

TextTree::TextTree(std::span<const std::string> texts, const WordScores* scores)
    : texts_(texts), scores_(scores) {
  const auto space = std::ranges::find(texts_, " ");
  nodes_.push_back(
      {.label = space == texts_.end() ? -1 : static_cast<std::int32_t>(space - texts_.begin())});
  if (scores_ != nullptr) at(kEmpty).words = scores_->start();
  kept_ = {kEmpty};
}

bool TextTree::is_space(std::int32_t label) const {
  return label >= 0 && texts_[static_cast<std::size_t>(label)] == " ";
}

int TextTree::child(int node, std::int32_t label) {
  if (is_space(label) && is_space(last(node))) return node;
  for (const auto& [known, child] : at(node).children)
    if (known == label) return child;
  Node next{.parent = node, .label = label};
  if (scores_ != nullptr) {
    next.words = scores_->extended(at(node).words, texts_[static_cast<std::size_t>(label)]);
    next.score = scores_->score(next.words);
  }
  const int made = add(next);
  at(node).children.emplace_back(label, made);
  return made;
}

int TextTree::add(const Node& node) {
  if (free_.empty()) {
    nodes_.push_back(node);
    return static_cast<int>(nodes_.size()) - 1;
  }
  const int place = free_.back();
  free_.pop_back();
  at(place) = node;
  return place;
}

void TextTree::free(int node) {
  at(node).used = false;
  free_.push_back(node);
}

std::vector<std::int32_t> TextTree::labels(int node) const {
  std::vector<std::int32_t> labels;
  if (node != kEmpty && is_space(last(node))) node = at(node).parent;
  for (; node != kEmpty; node = at(node).parent) labels.push_back(last(node));
  std::ranges::reverse(labels);
  return labels;
}

double TextTree::ended_score(int node) const {
  return scores_ == nullptr ? 0 : scores_->ended_score(at(node).words);
}

void TextTree::keep(std::span<const int> nodes) {
  ++keeps_;
  for (const int node : nodes) at(node).kept = keeps_;
  for (const int node : kept_)
    if (at(node).used && at(node).kept != keeps_) purge(node);  // else its parent took it along
  kept_.assign(nodes.begin(), nodes.end());
}

/// Frees a node that is not kept, its childless children, and its ancestors that led to it alone.
void TextTree::purge(int node) {
  for (bool goes = true; goes;) {
    std::erase_if(at(node).children, [&](const auto& child) {
      const Node& leaf = at(child.second);
      const bool freed = leaf.kept != keeps_ && leaf.children.empty();
      if (freed) free(child.second);
      return freed;
    });
    const int parent = at(node).parent;
    if (node == kEmpty || !at(node).children.empty()) return;
    std::erase_if(at(parent).children, [&](const auto& child) { return child.second == node; });
    free(node);
    goes = at(parent).kept != keeps_;
    node = parent;
  }
}

}  // namespace penstock::runtime
