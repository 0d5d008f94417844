#include "runtime/recognise/gathered_logits.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

/// Part i has i % 3 frames of two classes.
std::vector<float> part_logits(std::size_t i) {
  std::vector<float> logits;
  for (std::size_t k = 0; k < i % 3 * 2; ++k) logits.push_back(static_cast<float>(100 * i + k));
  return logits;
}

TEST(GatheredLogits, ComeToOneRankInOrder) {
  for (const int root : {0, 2})
    comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& world) {
      GatheredLogits gathered;
      std::size_t first = 0;
      for (const std::size_t parts : {7, 0, 4}) {
        for (std::size_t i = parts; i-- > 0;)
          if (static_cast<int>(i * i) % 3 == world.rank())
            gathered.keep(i, part_logits(first + i), 2);
        gathered.collect(world, parts, root);
        EXPECT_EQ(gathered.classes(), 2);
        first += parts;
      }
      if (world.rank() != root) return;
      std::vector<float> expected;
      for (std::size_t i = 0; i < first; ++i) {
        const bool kept = (i < 7 ? i * i : (i - 7) * (i - 7)) % 3 != 2;  // else by no rank
        const std::vector<float> logits = kept ? part_logits(i) : std::vector<float>();
        EXPECT_EQ(gathered.sizes().at(i), std::ssize(logits)) << i;
        expected.insert(expected.end(), logits.begin(), logits.end());
      }
      const MappedFile bytes = gathered.map();
      ASSERT_EQ(bytes.bytes().size(), expected.size() * sizeof(float));
      EXPECT_EQ(std::memcmp(bytes.bytes().data(), expected.data(), bytes.bytes().size()), 0);
    });
}

TEST(GatheredLogits, HaveNoClassesWithoutParts) {
  comm::run_as_threads({.ranks = 2}, [&](comm::Communicator& world) {
    GatheredLogits gathered;
    gathered.collect(world, 2, 1);
    EXPECT_EQ(gathered.classes(), 0);
    if (world.rank() == 1) {
      EXPECT_EQ(gathered.sizes(), (std::vector<std::int64_t>{0, 0}));
      EXPECT_TRUE(gathered.map().bytes().empty());
    }
  });
}

}  // namespace
}  // namespace penstock::runtime
