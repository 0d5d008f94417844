#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"
#include "comm/collectives.h"
#include "comm/threads.h"

namespace penstock::comm {
namespace {

/// Sizes of the parts of each rank, which follow each other in memory by part, then by rank.
using Sizes = std::vector<std::vector<std::size_t>>;

RankParts parts_in(std::span<std::byte> memory, const Sizes& sizes) {
  RankParts parts(sizes.size());
  std::size_t at = 0;
  for (std::size_t part = 0; part < sizes.front().size(); ++part)
    for (std::size_t rank = 0; rank < sizes.size(); ++rank) {
      parts[rank].push_back(memory.subspan(at, sizes[rank][part]));
      at += sizes[rank][part];
    }
  return parts;
}

class AllGather : public ::testing::TestWithParam<Sizes> {};

TEST_P(AllGather, BringsEveryOwnersBytesToAll) {
  const Sizes& sizes = GetParam();
  std::size_t bytes = 0;
  for (const auto& of_rank : sizes)
    for (const std::size_t size : of_rank) bytes += size;
  for (const bool rendezvous : {false, true})
    run_as_threads({static_cast<int>(sizes.size()), rendezvous}, [&](Communicator& group) {
      for (int step = 0; step < 3; ++step) {
        const auto value = [step](std::size_t at) {
          return static_cast<std::byte>((at * 7 + static_cast<std::size_t>(step)) % 251);
        };
        std::vector<std::byte> memory(bytes, std::byte{255}), expected(bytes);
        for (std::size_t at = 0; at < bytes; ++at) expected[at] = value(at);
        const RankParts parts = parts_in(memory, sizes);
        for (const auto& part : parts[static_cast<std::size_t>(group.rank())])
          for (std::byte& byte : part)
            byte = value(static_cast<std::size_t>(&byte - memory.data()));
        all_gather(group, parts);
        EXPECT_EQ(memory, expected) << "rank " << group.rank() << ", step " << step;
      }
    });
}

INSTANTIATE_TEST_SUITE_P(Ragged, AllGather,
                         ::testing::Values(Sizes{{3, 0, 17}}, Sizes{{1, 64, 5}, {1000, 0, 333}},
                                           Sizes{{0}, {1}, {0}}, Sizes{{}, {}},
                                           Sizes{{7, 13}, {0, 0}, {1, 4099}, {0, 2}, {65, 0}}));

TEST(AllGatherErrors, NamesTheRanksThatLackParts) {
  const auto ranks = make_thread_communicators({.ranks = 1});
  EXPECT_THROW(all_gather(*ranks[0], RankParts(2)), ShapeError);
}

}  // namespace
}  // namespace penstock::comm
