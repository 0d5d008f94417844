#include "runtime/profiling/probe_topology.h"

#include <gtest/gtest.h>

#include "comm/threads.h"
#include "layers/backend.h"

namespace penstock::runtime {
namespace {

TEST(ProbeTopology, IsOneNodeWithALinkPerPair) {
  comm::run_as_threads({.ranks = 3}, [](comm::Communicator& world) {
    const auto [cluster, links] = probe_topology(world);
    if (layers::cuda_device_count() == 0) {
      EXPECT_EQ(links, DeviceLinks::host);
    }
    EXPECT_EQ(cluster.nodes.size(), 1u);
    ASSERT_EQ(cluster.size(), 3);
    EXPECT_GT(cluster.devices[2].memory, 1e8);
    EXPECT_EQ(cluster.devices[0].memory, cluster.devices[2].memory);
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to) {
        if (from == to) continue;
        EXPECT_GT(cluster.link(from, to).latency, 0);
        EXPECT_GT(cluster.link(from, to).bandwidth, 1);
      }
    EXPECT_GE(cluster.overlap, 0);
    EXPECT_LE(cluster.overlap, 1);
  });
}

TEST(ProbeTopology, OneRankHasNoLink) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& world) {
    const partition::Cluster cluster = probe_topology(world).cluster;
    EXPECT_EQ(cluster.size(), 1);
    EXPECT_EQ(cluster.overlap, 1);
  });
}

}  // namespace
}  // namespace penstock::runtime
