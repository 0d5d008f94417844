// Links between devices, measured over NCCL as a job's messages go.

#include <gtest/gtest.h>

#include "comm/threads.h"
#include "layers/backend.h"
#include "runtime/profiling/job_links.h"
#include "runtime/profiling/plan_links.h"
#include "tests/emulated_cuda/emulation/control.h"

namespace emulated_cuda::test {
namespace {

using namespace penstock;

/// Returns the messages and bytes that all ranks together give to NCCL while they run `body`.
template <class Body>
Issued issued_by(int ranks, Body body) {
  const Issued before = issued();
  comm::run_as_threads({.ranks = ranks}, body);
  const Issued after = issued();
  return {.messages = after.messages - before.messages,
          .message_bytes = after.message_bytes - before.message_bytes};
}

// Each way has a byte that connects, 7 round trips or more, and others that warm up.
constexpr std::int64_t kMinMessages = 1 + 2 * 7;

TEST(NcclLink, NeighboursSendTheirDevicesMemory) {
  const Issued by_nccl = issued_by(3, [](comm::Communicator& world) {
    const runtime::NeighbourSpeeds measured = runtime::neighbour_speeds("cuda", world);
    EXPECT_EQ(measured.links, runtime::DeviceLinks::nccl);
    std::vector<std::pair<int, int>> ways;
    for (const runtime::LinkSpeed& speed : measured.speeds) {
      ways.emplace_back(speed.from, speed.to);
      EXPECT_GT(speed.latency_s, 0);
      EXPECT_GT(speed.bytes_per_s, 0);
    }
    EXPECT_EQ(ways, (std::vector<std::pair<int, int>>{{0, 1}, {1, 0}, {1, 2}, {2, 1}}));
  });
  EXPECT_GT(by_nccl.messages, 4 * kMinMessages);
  EXPECT_GT(by_nccl.message_bytes, 4 * static_cast<std::int64_t>(4 * runtime::kLinkMessage));
}

TEST(NcclLink, OfAPlanComputesWhileItSends) {
  const Issued by_nccl = issued_by(2, [](comm::Communicator& world) {
    partition::Plan plan;
    plan.chunks = {{.stage = 0}, {.stage = 1}};
    plan.ranks = {{0}, {1}};
    configs::TrainerConfig config;
    config.device = "cuda";
    const runtime::PlanLinks measured = runtime::measure_plan_links(plan, config, world);
    EXPECT_EQ(measured.links, runtime::DeviceLinks::nccl);
    EXPECT_EQ(measured.rates.size(), 2u);
    EXPECT_GE(measured.overlap, 0);
    EXPECT_LE(measured.overlap, 1);
  });
  EXPECT_GT(by_nccl.messages, 2 * kMinMessages);
}

TEST(NcclLink, IsTheHostsWhereRanksShareADevice) {
  const int ranks = penstock::layers::cuda_device_count() + 1;
  const Issued by_nccl = issued_by(ranks, [ranks](comm::Communicator& world) {
    configs::TrainerConfig config;
    config.device = "cuda";
    const runtime::RankDevice device = runtime::choose_device(config, world);
    EXPECT_EQ(device.links, runtime::DeviceLinks::host);
    const runtime::RankPairs ends{{0, ranks - 1}};
    EXPECT_EQ(runtime::link_speeds(world, ends, runtime::job_links(world, device)).size(), 2u);
  });
  EXPECT_EQ(by_nccl.messages, 0);
}

}  // namespace
}  // namespace emulated_cuda::test
