#include "runtime/pipeline/hypothesis_slots.h"

#include <gtest/gtest.h>

#include <random>

namespace penstock::runtime {
namespace {

using layers::TextStep;
using Rows = std::vector<int>;

TEST(HypothesisSlots, CopyNothingWithABeamOfOne) {
  HypothesisSlots slots(1, {3, 5});
  EXPECT_TRUE(
      slots.copies(std::vector<TextStep>{{7, 0}, {8, 0}}, std::vector<std::int64_t>{3, 5}).empty());
}

TEST(HypothesisSlots, CopyThePastOnceAndThenTexts) {
  HypothesisSlots slots(2, {3, 5});
  EXPECT_EQ(slots.copies(std::vector<TextStep>{{7, 0}, {}, {7, 0}, {8, 0}},
                         std::vector<std::int64_t>{3, 5}),
            (std::vector<SlotCopy>{{1, 2, 0, 5}, {2, 3, 0, 5}}));
  EXPECT_EQ(slots.copies(std::vector<TextStep>{{7, 0}, {8, 0}, {7, 1}, {8, 1}},
                         std::vector<std::int64_t>{4, 6}),
            (std::vector<SlotCopy>{{0, 1, 0, 4}, {3, 2, 5, 6}}));
  EXPECT_TRUE(slots
                  .copies(std::vector<TextStep>{{7, 0}, {8, 1}, {}, {8, 1}},
                          std::vector<std::int64_t>{5, 7})
                  .empty());
}

/// Follows random hypotheses, and compares the rows of each slot with those of its text. A search
/// lets one successor of each text stay in its slot.
TEST(HypothesisSlots, GiveEachSlotTheRowsOfItsText) {
  constexpr int kBeam = 3, kUtterances = 4, kRounds = 12;
  std::mt19937 random(5);
  const std::vector<std::int64_t> before = {2, 1, 4, 3};
  std::vector<std::int64_t> past = before;
  std::vector<Rows> cached(kBeam * kUtterances, Rows(40, -1)), texts(kBeam * kUtterances);
  for (int u = 0; u < kUtterances; ++u)
    for (int row = 0; row < before[u]; ++row) {
      cached[u][row] = 100 * u + row;
      texts[u * kBeam].push_back(100 * u + row);
    }
  HypothesisSlots slots(kBeam, before);
  int label = 1000, copied = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<TextStep> steps(texts.size());
    std::vector<Rows> next(texts.size());
    for (int u = 0; u < kUtterances; ++u) {
      std::vector<int> living;
      for (int n = 0; n < kBeam; ++n)
        if (!texts[u * kBeam + n].empty()) living.push_back(n);
      const int parent = living[random() % living.size()];
      for (int n = 0; n < kBeam; ++n)  // all but one text may end
        if (n == parent || random() % 3 > 0) steps[u * kBeam + n] = {0, parent};
    }
    for (std::size_t slot = 0; slot < steps.size(); ++slot)
      if (steps[slot].goes_on()) next[slot] = texts[slot / kBeam * kBeam + steps[slot].parent];
    for (const auto& [from, to, first, end] : slots.copies(steps, past)) {
      std::copy(cached[from].begin() + first, cached[from].begin() + end,
                cached[to].begin() + first);
      ++copied;
    }
    for (std::size_t slot = 0; slot < steps.size(); ++slot) {
      if (!steps[slot].goes_on()) continue;
      const auto rows = cached[slot].begin();
      EXPECT_EQ(Rows(rows, rows + std::ssize(next[slot])), next[slot]) << "slot " << slot;
      cached[slot][past[slot / kBeam]] = ++label;
      next[slot].push_back(label);
    }
    for (std::int64_t& rows : past) ++rows;
    texts = next;
  }
  EXPECT_GT(copied, 20);
}

}  // namespace
}  // namespace penstock::runtime
