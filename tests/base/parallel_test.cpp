#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"

namespace penstock {
namespace {

TEST(Cache, AsksOnceAndKeepsTheAnswerInPlace) {
  Cache<int, std::string> known;
  int asked = 0;
  const auto of = [&](int key) -> const std::string& {
    return known.of(key, [&] {
      ++asked;
      return std::to_string(key);
    });
  };
  const std::string& seven = of(7);
  for (int other = 0; other < 100; ++other) of(other);
  EXPECT_EQ(seven, "7");
  EXPECT_EQ(&of(7), &seven);
  EXPECT_EQ(asked, 100);
}

TEST(Cache, WhatFailsIsAskedAgain) {
  Cache<int, int> known;
  const auto fails = []() -> int { throw DataError("none"); };
  EXPECT_THROW(known.of(1, fails), DataError);
  EXPECT_EQ(known.of(1, [] { return 5; }), 5);
  EXPECT_EQ(known.of(1, fails), 5);
}

TEST(Cache, ThreadsGetTheSameAnswer) {
  Cache<std::size_t, std::vector<std::size_t>> known;
  std::atomic<int> wrong = 0;
  std::vector<const void*> places(400);
  parallel_for(places.size(), 4, [&](std::size_t i) {
    const auto& answer = known.of(i % 7, [&] { return std::vector<std::size_t>(3, i % 7); });
    wrong += answer != std::vector<std::size_t>(3, i % 7);
    places[i] = &answer;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(std::set(places.begin(), places.end()).size(), 7u);
}

}  // namespace
}  // namespace penstock
