#include <gtest/gtest.h>

#include "base/error.h"
#include "configs/config.h"
#include "partition/planner/cluster/cluster_file.h"

namespace penstock::partition {
namespace {

/// Three devices of three kinds in two nodes; link(from, to) has from · 10 + to + 1 µs and as many
/// GB/s, or twos.
Cluster example(bool alike) {
  Cluster cluster;
  cluster.margin = 0.1;
  cluster.overlap = 0.75;
  cluster.nodes = {"lion", "tiger"};
  cluster.devices = {{.kind = "x86", .memory = 3.0 * (1 << 30), .speed = 1, .node = 0},
                     {.kind = "cpu", .memory = 3.0 * (1 << 30), .speed = 1, .node = 0},
                     {.kind = "L4", .memory = 22.0 * (1 << 30), .speed = 2.5, .node = 1}};
  for (int from = 0; from < 3; ++from)
    for (int to = 0; to < 3; ++to) {
      const double rate = alike ? (from == 2 || to == 2 ? 2 : 4) : from * 10 + to + 1;
      cluster.exact_links.push_back({1e-6 * rate, 1e9 * rate});
    }
  return cluster;
}

TEST(ClusterToml, IsReadAgain) {
  for (const bool alike : {false, true}) {
    const Cluster made = example(alike);
    const std::string text = cluster_toml(made);
    EXPECT_EQ(text.find("[matrix]") == std::string::npos, alike) << text;
    const Cluster read = parse_cluster(text, "c.toml");
    EXPECT_EQ(read.margin, 0.1);
    EXPECT_EQ(read.overlap, 0.75);
    EXPECT_EQ(read.nodes, made.nodes);
    ASSERT_EQ(read.size(), 3);
    for (int from = 0; from < 3; ++from) {
      EXPECT_EQ(read.devices[from].kind, made.devices[from].kind);
      EXPECT_EQ(read.devices[from].memory, made.devices[from].memory);
      EXPECT_EQ(read.devices[from].speed, made.devices[from].speed);
      EXPECT_EQ(read.devices[from].node, made.devices[from].node);
      for (int to = 0; to < 3; ++to) {
        if (from == to) continue;
        EXPECT_NEAR(read.link(from, to).latency, made.link(from, to).latency, 1e-12);
        EXPECT_NEAR(read.link(from, to).bandwidth, made.link(from, to).bandwidth, 1);
      }
    }
  }
}

TEST(ClusterToml, KeepsSharedAdapters) {
  Cluster made = example(true);
  made.adapters = {0, 0, 1};
  EXPECT_EQ(parse_cluster(cluster_toml(made), "c.toml").adapters, made.adapters);
}

TEST(ClusterToml, RejectsAShareOutOfRange) {
  const auto refused = [](const std::string& overlap) {
    std::string text = cluster_toml(example(true));
    text.replace(text.find("overlap = 0.75"), 14, "overlap = " + overlap);
    EXPECT_THROW(parse_cluster(text, "c.toml"), ConfigError) << overlap;
  };
  refused("1.5");
  refused("-0.1");
}

}  // namespace
}  // namespace penstock::partition
