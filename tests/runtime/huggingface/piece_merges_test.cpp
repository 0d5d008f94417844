#include "runtime/huggingface/piece_merges.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using Pair = Merges::Pair;

TEST(PieceMerges, TakeTheLowestRankFirst) {
  const Merges merges(std::vector<Pair>{{"b", "c"}, {"a", "b"}, {"a", "bc"}, {"ab", "c"}});
  EXPECT_EQ(merges.rank("a", "bc"), 2);
  EXPECT_FALSE(merges.rank("b", "a"));
  EXPECT_EQ(merges.last_pair("abc"), Pair("a", "bc"));
  EXPECT_EQ(merges.last_pair("ab"), Pair("a", "b"));
  EXPECT_EQ(merges.last_pair("ca"), Pair("c", "a"));  // which is no merge
  EXPECT_FALSE(merges.last_pair("a"));
  EXPECT_FALSE(merges.last_pair("cba"));
}

TEST(PieceMerges, TakeTheFirstOfEquals) {
  EXPECT_EQ(Merges(std::vector<Pair>{{"a", "a"}}).last_pair("aaa"), Pair("aa", "a"));
}

TEST(PieceMerges, CountCharactersAndNotBytes) {
  EXPECT_EQ(Merges(std::vector<Pair>{{"▁", "é"}}).last_pair("▁éx"), Pair("▁é", "x"));
}

TEST(PieceMerges, FollowFromScores) {
  const std::vector<std::pair<std::string, float>> pieces = {
      {"a", -9}, {"b", -10}, {"c", -11}, {"abc", -3}, {"bc", -1}, {"ab", -2}, {"axb", -4}};
  EXPECT_EQ(merges_of_scores(pieces), (std::vector<Pair>{{"b", "c"}, {"a", "b"}, {"a", "bc"}}));
}

/// The search for its pair would take hours.
TEST(PieceMerges, RefuseAPieceOfManyCharacters) {
  const Merges merges(std::vector<Pair>{{"a", "a"}});
  EXPECT_EQ(test::message_of<CheckpointError>(
                [&] { (void)merges.last_pair(std::string(1'000'000, 'a')); }),
            "its piece 'aaaaaaaaaaaaaaaaaaaa…' has 1000000 characters, more than 1024");
}

}  // namespace
}  // namespace penstock::runtime
