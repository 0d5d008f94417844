#include "runtime/decoding/text_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::runtime {
namespace {

const std::vector<std::string> kTexts = {"", " ", "a", "b"};
using Labels = std::vector<std::int32_t>;

TEST(TextTree, GivesEqualTextsOneNode) {
  TextTree tree(kTexts);
  const int a = tree.child(TextTree::kEmpty, 2), ab = tree.child(a, 3);
  EXPECT_EQ(tree.child(TextTree::kEmpty, 2), a);
  EXPECT_NE(tree.child(a, 2), ab);
  EXPECT_EQ(tree.last(ab), 3);
  EXPECT_EQ(tree.labels(ab), (Labels{2, 3}));
  EXPECT_EQ(tree.labels(TextTree::kEmpty), Labels());
}

TEST(TextTree, HasOneSpaceBetweenWordsAlone) {
  TextTree tree(kTexts);
  EXPECT_EQ(tree.child(TextTree::kEmpty, 1), TextTree::kEmpty);
  EXPECT_EQ(tree.last(TextTree::kEmpty), 1);
  const int a = tree.child(TextTree::kEmpty, 2), space = tree.child(a, 1);
  EXPECT_EQ(tree.child(space, 1), space);
  EXPECT_EQ(tree.labels(space), Labels{2});
  EXPECT_EQ(tree.labels(tree.child(space, 3)), (Labels{2, 1, 3}));
  const std::vector<std::string> letters = {"", "a"};
  EXPECT_EQ(TextTree(letters).last(TextTree::kEmpty), -1);
}

// Nodes that lead to kept ones stay, and freed places are used again.
TEST(TextTree, KeepsTheWaysToItsNodes) {
  TextTree tree(kTexts);
  int kept = TextTree::kEmpty, most = 0;
  Labels labels;
  for (int i = 0; i < 100; ++i) {
    const std::int32_t label = 2 + i % 2;
    for (const std::int32_t other : {1, 2, 3}) most = std::max(most, tree.child(kept, other));
    kept = tree.child(kept, label);
    labels.push_back(label);
    tree.keep(std::vector<int>{kept});
    ASSERT_EQ(tree.labels(kept), labels);
  }
  EXPECT_LT(most, 110);
  const int other = tree.child(TextTree::kEmpty, 3);
  EXPECT_EQ(tree.labels(other), Labels{3});
  tree.keep(std::vector<int>{other});
  EXPECT_EQ(tree.labels(other), Labels{3});
}

// A node and its child go together, and each place is used again once.
TEST(TextTree, ForgetsParentsWithTheirChildren) {
  TextTree tree(kTexts);
  const int a = tree.child(TextTree::kEmpty, 2), ab = tree.child(a, 3);
  const int b = tree.child(TextTree::kEmpty, 3);
  tree.keep(std::vector<int>{a, ab, b});
  tree.keep(std::vector<int>{b});
  std::vector<int> nodes = {TextTree::kEmpty, b};
  for (const std::int32_t label : {1, 2, 3}) nodes.push_back(tree.child(b, label));
  std::ranges::sort(nodes);
  EXPECT_EQ(std::ranges::adjacent_find(nodes), nodes.end());
}

}  // namespace
}  // namespace penstock::runtime
