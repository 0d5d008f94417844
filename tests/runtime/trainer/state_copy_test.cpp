#include "runtime/trainer/state_copy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <mutex>

#include "base/quantities.h"
#include "comm/threads.h"
#include "tests/support/layers/watched_backend.h"
#include "tests/support/runtime/example_checkpoint.h"

namespace penstock::runtime {
namespace {

std::vector<std::byte> bytes_behind(const CheckpointPiece& piece) {
  const auto* data = static_cast<const std::byte*>(piece.data);
  return {data, data + bytes_of({&piece, 1})};
}

TEST(StateCopy, HoldsTheNumbersOfItsMoment) {
  for (const auto kind : {layers::DeviceKind::cpu, layers::DeviceKind::cuda}) {
    std::vector<test::ExampleTensor> tensors = test::example_tensors(1);
    const std::vector<CheckpointPiece> pieces = test::example_pieces(tensors, 1, 3);
    test::WatchedBackend backend(kind);
    const auto stream = backend.make_stream({});
    StateCopy copy(backend, *stream, pieces);
    EXPECT_EQ(backend.allocated_host, bytes_of(pieces));

    std::vector<std::vector<std::byte>> before;
    for (const CheckpointPiece& piece : pieces) before.push_back(bytes_behind(piece));
    const std::vector<CheckpointPiece> copies = copy.take();
    for (test::ExampleTensor& tensor : tensors)
      for (std::byte& byte : tensor.bytes) byte = ~byte;  // training goes on
    ASSERT_EQ(copies.size(), pieces.size());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      EXPECT_EQ(copies[i].name, pieces[i].name);
      EXPECT_EQ(copies[i].begin, pieces[i].begin);
      EXPECT_EQ(copies[i].end, pieces[i].end);
      EXPECT_EQ(bytes_behind(copies[i]), before[i]) << pieces[i].name;
      EXPECT_NE(bytes_behind(pieces[i]), before[i]) << pieces[i].name;
    }
    for (std::size_t i = 0; i < pieces.size(); ++i)
      EXPECT_EQ(bytes_behind(copy.take()[i]), bytes_behind(pieces[i])) << "of the second moment";
    EXPECT_EQ(backend.allocated_host, bytes_of(pieces)) << "the memory is taken once";
  }
}

HostMemoryUse room(const std::string& machine, double planned, double limit, double copy) {
  return {machine, 100 * kGib, planned * kGib, limit * kGib, copy * kGib};
}

TEST(HostMemoryUse, IsThereUpToARanksLimit) {
  EXPECT_EQ(memory_shortage({room("lion", 7, 10, 3), room("lion", 8, 0, 80)}), "");
  const std::string lack = memory_shortage({room("lion", 7, 10, 3), room("lion", 7, 10, 3.5)});
  EXPECT_EQ(lack,
            "a copy of the state takes 3.5 GiB on rank 1, besides the 7 GiB of the plan, and "
            "pipeline.memory_gib is 10");
}

TEST(HostMemoryUse, IsAMachinesForAllItsRanks) {
  EXPECT_EQ(memory_shortage({room("lion", 30, 0, 20), room("lion", 30, 0, 20)}), "");
  EXPECT_EQ(memory_shortage({room("lion", 30, 0, 20), room("tiger", 30, 0, 20),
                             room("lion", 30, 0, 20.5), room("tiger", 1, 0, 20)}),
            "a copy of the state takes 40.5 GiB on lion, besides the 60 GiB of the plan, and the "
            "machine has 100 GiB");
}

TEST(HostMemoryUse, IsToldAllRanksAlike) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const double copy = world.rank() == 2 ? 9 : 1;
    const std::string lack = memory_shortage(world, room("lion", 2, 10, copy));
    EXPECT_NE(lack.find("9 GiB on rank 2"), std::string::npos) << lack;
  });
}

}  // namespace
}  // namespace penstock::runtime
