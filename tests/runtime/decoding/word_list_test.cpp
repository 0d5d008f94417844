#include "runtime/decoding/word_list.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace penstock::runtime {
namespace {

const std::vector<std::string> kWords = {"two", "to", "one", "too", "zürich", "", "to", "z"};

TEST(WordList, HasEachWordOnce) {
  const WordList list(kWords);
  EXPECT_EQ(list.size(), 6u);
  for (const std::string& word : kWords) {
    const auto place = list.place(list.extended(list.start(), word));
    if (word.empty())
      EXPECT_FALSE(place);
    else
      EXPECT_EQ(list.word(place.value()), word);
  }
}

TEST(WordList, KnowsBeginningsOfAnyLength) {
  const WordList list(kWords);
  for (const std::string bytes :
       {"t", "to", "tw", "z", "z\xc3", "zürich", "x", "tox", "oneone", ""}) {
    const auto beginning = list.extended(list.start(), bytes);
    EXPECT_EQ(beginning.begins_words(), std::ranges::any_of(kWords,
                                                            [&](const std::string& word) {
                                                              return !word.empty() &&
                                                                     word.starts_with(bytes);
                                                            }))
        << bytes;
    EXPECT_EQ(list.place(beginning).has_value(),
              !bytes.empty() && std::ranges::find(kWords, bytes) != kWords.end())
        << bytes;
  }
  const auto split = list.extended(list.extended(list.start(), "t"), "oo");
  EXPECT_EQ(list.place(split), list.place(list.extended(list.start(), "too")));
}

TEST(WordList, MayBeEmpty) {
  const WordList list({});
  EXPECT_FALSE(list.start().begins_words());
  EXPECT_FALSE(list.place(list.extended(list.start(), "a")));
}

}  // namespace
}  // namespace penstock::runtime
