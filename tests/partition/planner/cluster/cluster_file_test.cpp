#include "partition/planner/cluster/cluster_file.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/config.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::partition {
namespace {

const std::string kinds = "[kinds.big]\nmemory_gib = 2\nspeed = 1.5\n";  // 3 lines

std::string error_message(const std::string& text) {
  return test::message_of<ConfigError>([&] { parse_cluster(text, "c.toml"); });
}

TEST(ClusterFile, ReadsKindsNodesAndLinks) {
  const Cluster cluster = parse_cluster(kinds + R"(
[kinds.small]
memory_gib = 0.5
speed = 1
[[node]]
name = "a"
count = 2
devices = { big = 2 }
within = { latency_us = 3, gb_per_s = 100 }
[[node]]
name = "b"
devices = { big = 1, small = 1 }
within = { latency_us = 4, gb_per_s = 10 }
[between]
latency_us = 20
gb_per_s = 1.5
[[link]]
nodes = ["b", "a1"]
latency_us = 9
gb_per_s = 2
)",
                                        "c.toml");
  EXPECT_EQ(cluster.margin, 0);
  EXPECT_EQ(cluster.nodes, (std::vector<std::string>{"a0", "a1", "b"}));
  ASSERT_EQ(cluster.size(), 6);
  EXPECT_EQ(cluster.devices[4].kind, "big");
  EXPECT_EQ(cluster.devices[5].kind, "small");
  EXPECT_EQ(cluster.devices[5].memory, 536870912);
  EXPECT_EQ(cluster.devices[0].speed, 1.5);
  EXPECT_EQ(cluster.name_of(3), "a1:1");
  EXPECT_EQ(cluster.link(0, 1).bandwidth, 100e9);
  EXPECT_EQ(cluster.link(4, 5).bandwidth, 10e9);
  EXPECT_DOUBLE_EQ(cluster.link(1, 2).latency, 20e-6);
  EXPECT_EQ(cluster.link(1, 5).bandwidth, 1.5e9);
  EXPECT_EQ(cluster.link(3, 4).bandwidth, 2e9);
  EXPECT_EQ(cluster.link(5, 2).bandwidth, 2e9);
}

TEST(ClusterFile, ReadsAMatrix) {
  const Cluster cluster = parse_cluster("margin = 0.25\n" + kinds +
                                            "[[node]]\nname = \"a\"\ndevices = { big = 2 }\n"
                                            "[matrix]\nlatency_us = [[0, 5], [7, 0]]\n"
                                            "gb_per_s = [[0, 2.5], [4, 0]]\n",
                                        "c.toml");
  EXPECT_EQ(cluster.link(0, 1).bandwidth, 2.5e9);
  EXPECT_EQ(cluster.link(1, 0).bandwidth, 4e9);
  EXPECT_DOUBLE_EQ(cluster.link(1, 0).latency, 7e-6);
  EXPECT_EQ(cluster.usable(1), 0.75 * 2147483648.0);
}

TEST(ClusterFile, KeepsTheOrderOfKindsInANode) {
  const Cluster cluster = parse_cluster(kinds + R"([kinds.also]
memory_gib = 1
speed = 1
[[node]]
name = "a"
devices = { big = 1, also = 2 }
[[node]]
name = "b"
[node.devices]
also = 1
big = 1
[matrix]
latency_us = [[0, 1, 2, 3, 4], [1, 0, 5, 6, 7], [1, 1, 0, 8, 9], [1, 1, 1, 0, 3], [1, 1, 1, 1, 0]]
gb_per_s = [[0, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 0, 1, 1], [1, 1, 1, 0, 1], [1, 1, 1, 1, 0]]
)",
                                        "c.toml");
  std::vector<std::string> names;
  for (const Device& device : cluster.devices) names.push_back(device.kind);
  EXPECT_EQ(names, (std::vector<std::string>{"big", "also", "also", "also", "big"}));
  EXPECT_DOUBLE_EQ(cluster.link(0, 4).latency, 4e-6);
}

TEST(ClusterFile, DevicesShareANodesAdaptersEvenly) {
  const std::string node =
                        "[[node]]\nname = \"a\"\ncount = 2\ndevices = { big = 5 }\n"
                        "within = { latency_us = 1, gb_per_s = 1 }\n",
                    alone =
                        "[[node]]\nname = \"b\"\ndevices = { big = 2 }\n"
                        "within = { latency_us = 1, gb_per_s = 1 }\n",
                    between = "[between]\nlatency_us = 1\ngb_per_s = 1\n";
  const auto adapters = [&](const std::string& key) {
    return parse_cluster(kinds + node + key + alone + between, "c.toml").adapters;
  };
  EXPECT_EQ(adapters("adapters = 2\n"), (std::vector{0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4, 5}));
  EXPECT_TRUE(adapters("").empty());
  EXPECT_TRUE(adapters("adapters = 5\n").empty());
  EXPECT_EQ(error_message(kinds + node + "adapters = 6\n" + between),
            "the cluster can't be used:\n"
            "  c.toml:9: node.adapters = 6, but it takes a whole number from 1 to 5");
}

TEST(ClusterFile, ReadsEveryOneOfTheTree) {
  const auto folder = test::source("configs/clusters");
  const auto size = [&](const char* name) { return read_cluster(folder / name).size(); };
  EXPECT_EQ(size("laptop.toml"), 2);
  EXPECT_EQ(size("h100-8.toml"), 8);
  EXPECT_EQ(size("h100-8x8.toml"), 64);
  EXPECT_EQ(size("h100-128x8.toml"), 1024);
  const Cluster mixed = read_cluster(folder / "mixed.toml");
  EXPECT_EQ(mixed.size(), 16);
  EXPECT_NE(mixed.devices.front().speed, mixed.devices.back().speed);
  EXPECT_NE(mixed.devices.front().device, mixed.devices.back().device);
}

TEST(ClusterFile, NamesMissingLinks) {
  EXPECT_EQ(
      error_message(kinds + "[[node]]\nname = \"a\"\ncount = 3\ndevices = { big = 1 }\n"
                            "[[link]]\nnodes = [\"a0\", \"a2\"]\nlatency_us = 1\ngb_per_s = 1\n"),
      "the cluster can't be used:\n"
      "  c.toml:4: missing link: none between nodes a0 and a1, nor between 1 other pairs; add "
      "[[link]] nodes = [\"…\", \"…\"], or [between] for all");
  EXPECT_EQ(error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 2 }\n"),
            "the cluster can't be used:\n"
            "  c.toml:4: missing link: node a has 2 devices, say within = { latency_us = …, "
            "gb_per_s = … }");
  EXPECT_NE(
      error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 2 }\n"
                            "[matrix]\nlatency_us = [[0, 5], [7, 0]]\ngb_per_s = [[0, 2.5]]\n")
          .find("c.toml:7: matrix.gb_per_s must have a row for each of the 2 devices"),
      std::string::npos);
}

TEST(ClusterFile, RejectsLinksThatAreGivenTwice) {
  EXPECT_EQ(
      error_message(kinds + "[[node]]\nname = \"a\"\ncount = 2\ndevices = { big = 1 }\n"
                            "[[link]]\nnodes = [\"a0\", \"a1\"]\nlatency_us = 1\ngb_per_s = 1\n"
                            "[[link]]\nnodes = [\"a1\", \"a0\"]\nlatency_us = 2\ngb_per_s = 1\n"),
      "the cluster can't be used:\n"
      "  c.toml:12: two links join nodes a1 and a0: leave one out");
  EXPECT_EQ(error_message(kinds +
                          "[[node]]\nname = \"a\"\ndevices = { big = 2 }\n"
                          "within = { latency_us = 1, gb_per_s = 1 }\n"
                          "[matrix]\nlatency_us = [[0, 5], [7, 0]]\ngb_per_s = [[0, 2], [2, 0]]\n"),
            "the cluster can't be used:\n"
            "  c.toml:4: [matrix] already gives every link: leave out node a's within");
}

TEST(ClusterFile, NamesPlacesInMatrices) {
  EXPECT_EQ(error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 3 }\n"
                                  "[matrix]\nlatency_us = [[0, 5, 1], [7, 0, -2], 3]\n"
                                  "gb_per_s = [[0, 2, 1], [2, 0, 1], [1, 0, 0]]\n"),
            "the cluster can't be used:\n"
            "  c.toml:8: matrix.latency_us[1][2] = -2, but it takes a number of at least 0\n"
            "  c.toml:8: matrix.latency_us[2] = 3, but it takes a list of numbers\n"
            "  c.toml:9: matrix.gb_per_s[2][1] = 0, but it takes a number above 0");
}

TEST(ClusterFile, SaysOnceWhatManyNodesLack) {
  EXPECT_EQ(error_message(kinds + "[[node]]\nname = \"a\"\ncount = 5\ndevices = { other = 1 }\n"),
            "the cluster can't be used:\n"
            "  c.toml:4: unknown device kind other: describe it as [kinds.other]");
}

TEST(ClusterFile, AsksWhetherAnotherUnitWasMeant) {
  const std::string node = "[[node]]\nname = \"a\"\ndevices = { big = 2 }\n";
  EXPECT_EQ(
      error_message("[kinds.big]\nmemory_gib = 40e9\nspeed = 312e12\n" + node +
                    "within = { latency_us = 5, gb_per_s = 25e9 }\n"),
      "the cluster can't be used:\n"
      "  c.toml:2: kinds.big.memory_gib = 40000000000.0, but it takes a number above 0 and at "
      "most 1048576; is that in bytes? A GiB has 2^30 of them\n"
      "  c.toml:3: kinds.big.speed = 312000000000000.0, but it takes a number above 0 and at "
      "most 1000000; it is how many times as fast as the device that costs were measured "
      "on\n"
      "  c.toml:7: node.within.gb_per_s = 25000000000.0, but it takes a number above 0 and at "
      "most 1000000; is that in bytes a second? GB a second are 10^9 of them");
  EXPECT_NE(error_message(kinds + node +
                          "[matrix]\nlatency_us = [[0, 5], [7, 0]]\ngb_per_s = [[0, 3e9], [1, 0]]")
                .find("matrix.gb_per_s[0][1] = 3000000000.0, but it takes a number above 0 and at "
                      "most 1000000; is that in bytes a second?"),
            std::string::npos);
  EXPECT_NE(error_message("[kinds.big]\nmemory = 40\nspeed = 1\n" + node)
                .find("c.toml:2: unknown key kinds.big.memory; did you mean memory_gib?"),
            std::string::npos);
}

TEST(ClusterFile, RefusesMoreDevicesThanAPlanTakes) {
  const auto of = [](int nodes, int devices) {
    return kinds +
           fmt::format(
               "[[node]]\nname = \"z\"\ndevices = {{ big = 1 }}\n[[node]]\nname = \"a\"\n"
               "count = {}\ndevices = {{ big = {} }}\nwithin = {{ latency_us = 5, gb_per_s = 9 "
               "}}\n[between]\nlatency_us = 5\ngb_per_s = 1\n",
               nodes, devices);
  };
  EXPECT_EQ(parse_cluster(of(45, 91), "c.toml").size(), 4096);
  EXPECT_EQ(error_message(of(64, 64)),
            "the cluster can't be used:\n"
            "  c.toml:7: the cluster has 4097 devices, but a plan takes at most 4096: lower "
            "node.count or node.devices");
  EXPECT_NE(error_message(of(60000, 4)).find("node.count = 60000"), std::string::npos);
}

TEST(ClusterFile, SaysWhichBracketsAreWrong) {
  EXPECT_EQ(
      error_message(kinds + "[node]\nname = \"a\"\ndevices = { big = 1 }\n"),
      "the cluster can't be used:\n"
      "  c.toml:4: [node] needs a second pair of brackets, also where there is only one: write "
      "[[node]]");
  EXPECT_NE(error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 1 }\n"
                                  "[[between]]\nlatency_us = 5\ngb_per_s = 1\n")
                .find("[[between]] has one pair of brackets too many: there is one table between, "
                      "written [between]"),
            std::string::npos);
  EXPECT_NE(error_message("[kinds.big]\nmemory_gib = { a = 1 }\nspeed = 1\n")
                .find("kinds.big.memory_gib = a table, but it takes a number above 0"),
            std::string::npos);
}

TEST(ClusterFile, AddsUpPricesOfDevices) {
  const Cluster cluster = parse_cluster(
      "[kinds.big]\nmemory_gib = 2\nspeed = 1\nprice_per_hour = 2.5\n[kinds.small]\nmemory_gib = "
      "1\nspeed = 1\nprice_per_hour = 0.75\n[kinds.own]\nmemory_gib = 1\nspeed = 1\n[[node]]\n"
      "name = \"a\"\ndevices = { big = 1, small = 2, own = 1 }\n"
      "within = { latency_us = 1, gb_per_s = 1 }\n",
      "c.toml");
  std::vector<int> of(3, 0);  // the kinds' first devices; TOML tables may have any order
  for (int d = 0; d < cluster.size(); ++d)
    of[cluster.devices[d].kind == "big" ? 0 : cluster.devices[d].kind == "small" ? 1 : 2] = d;
  EXPECT_EQ(cluster.price_per_hour({{of[0], of[1]}, {of[1]}}), 4);
  EXPECT_EQ(cluster.price_per_hour({{of[0]}, {of[2]}}), 0);
  EXPECT_NE(error_message("[kinds.big]\nmemory_gib = 2\nspeed = 1\nprice_per_hour = 0\n[[node]]\n"
                          "name = \"a\"\ndevices = { big = 1 }\n")
                .find("kinds.big.price_per_hour = 0, but it takes a number above 0"),
            std::string::npos);
}

TEST(ClusterFile, KnowsHowFastDevicesCopyToTheHost) {
  const auto of = [](const char* kind) {
    const std::string text =
        std::string("[kinds.k]\n") + kind + "[[node]]\nname = \"a\"\ndevices = { k = 1 }\n";
    return parse_cluster(text, "c.toml").devices.front().host_bandwidth;
  };
  EXPECT_EQ(of("memory_gib = 2\nspeed = 1\n"), kHostBandwidth);
  EXPECT_EQ(of("memory_gib = 2\nspeed = 1\nhost_gb_per_s = 12\n"), 12e9);
  EXPECT_EQ(of("device = \"h100\"\n"), 55e9);
  EXPECT_EQ(of("device = \"h100\"\nhost_gb_per_s = 12\n"), 12e9);
}

TEST(ClusterFile, SuggestsAKnownCluster) {
  const auto refused = [](const char* name) {
    return test::message_of<ConfigError>([&] { read_cluster(name); });
  };
  EXPECT_TRUE(refused("h100_8").ends_with("rtx4090-4; did you mean h100-8?")) << refused("h100_8");
  EXPECT_EQ(refused("elsewhere/offices.toml").find("did you mean"), std::string::npos);
}

TEST(ClusterFile, NamesWrongValuesAndUnknownKeys) {
  EXPECT_EQ(error_message("margin = 1\n[kinds.big]\nmemory_gib = -2\nsped = 1\n"
                          "[[node]]\nname = \"a\"\ncount = 0\ndevices = { big = 1.5 }\n"
                          "[betwen]\nlatency_us = 1\n"),
            "the cluster can't be used:\n"
            "  c.toml:1: margin = 1, but it takes a number of at least 0 and at most 0.9\n"
            "  c.toml:3: kinds.big.memory_gib = -2, but it takes a number above 0\n"
            "  c.toml:2: kinds.big.speed is missing\n"
            "  c.toml:4: unknown key kinds.big.sped; did you mean speed?\n"
            "  c.toml:7: node.count = 0, but it takes a whole number from 1 to 4096\n"
            "  c.toml:8: node.devices = 1.5, but it takes a whole number from 1 to 1024\n"
            "  c.toml:9: unknown key betwen; did you mean between?");
  EXPECT_NE(error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { bug = 1 }\n")
                .find("c.toml:4: unknown device kind bug: describe it as [kinds.bug]; did you "
                      "mean big?"),
            std::string::npos);
  EXPECT_NE(
      error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 1 }\n"
                            "[[link]]\nnodes = [\"a\", \"q\"]\nlatency_us = -1\ngb_per_s = 0\n")
          .find("c.toml:9: link.latency_us = -1, but it takes a number of at least 0\n"
                "  c.toml:10: link.gb_per_s = 0, but it takes a number above 0"),
      std::string::npos);
  EXPECT_NE(
      error_message(kinds + "[[node]]\nname = \"a\"\ndevices = { big = 1 }\n"
                            "[[link]]\nnodes = [\"a\", \"q\"]\nlatency_us = 1\ngb_per_s = 1\n")
          .find("c.toml:7: link.nodes names q, which no [[node]] is"),
      std::string::npos);
  EXPECT_NE(error_message(kinds).find("c.toml:1: a cluster needs at least one [[node]]"),
            std::string::npos);
  EXPECT_NE(error_message("[kinds\n").find("c.toml:1: not TOML"), std::string::npos);
  EXPECT_NE(test::message_of<ConfigError>([] { read_cluster("/gone.toml"); }).find("/gone.toml"),
            std::string::npos);
}

std::string of_kind(const std::string& kind) {
  return kind + "[[node]]\nname = \"a\"\ndevices = { k = 1 }\n";
}

TEST(ClusterFile, NamesTheFirstOfManyFaults) {
  std::string text = "[kinds.k]\nmemory_gib = 40\nspeed = 1\n";
  for (int i = 0; i < 17; ++i) text += "[[node]]\nname = \"n\"\ndevices = { k = 1 }\nfoo = 1\n";
  const std::string said = error_message(text);
  EXPECT_NE(said.find("c.toml:7: unknown key node.foo"), std::string::npos) << said;
  EXPECT_EQ(std::ranges::count(said, '\n'), 13) << said;  // 12 faults, and
  EXPECT_TRUE(said.ends_with("\n  and 5 more")) << said;
}

TEST(ClusterFile, KindsTakeWhatTheirDeviceSays) {
  const Cluster named = parse_cluster(of_kind("[kinds.k]\ndevice = \"l4\"\n"), "c.toml");
  EXPECT_EQ(named.devices[0].memory, 24 * kGib);
  EXPECT_EQ(named.devices[0].speed, 1);
  EXPECT_EQ(named.devices[0].device, "l4");
  EXPECT_EQ(named.overlap, 0.84) << "NCCL's kernels slow others";
  const Cluster other = parse_cluster(
      "overlap = 0.5\n" + of_kind("[kinds.k]\ndevice = \"l4\"\nmemory_gib = 20\nspeed = 2\n"),
      "c.toml");
  EXPECT_EQ(other.devices[0].memory, 20 * kGib);
  EXPECT_EQ(other.devices[0].speed, 2);
  EXPECT_EQ(other.overlap, 0.5);
  EXPECT_EQ(parse_cluster(of_kind("[kinds.k]\ndevice = \"cpu-avx2\"\n"), "c.toml").overlap, 1);
  try {
    (void)parse_cluster(of_kind("[kinds.k]\ndevice = \"l5\"\n"), "c.toml");
    FAIL() << "read";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("c.toml:1: kinds.k.device: l5: no such device file"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW(parse_cluster(of_kind("[kinds.k]\nmemory_gib = 4\n"), "c.toml"), ConfigError)
      << "without a device a kind needs a speed";
}

TEST(ClusterFile, RejectsKeysThatNestTooDeeply) {
  std::string key = "a";
  for (int i = 0; i < 1'000'000; ++i) key += ".a";
  EXPECT_EQ(
      error_message(key + " = 1\n"),
      "the cluster can't be used:\n  c.toml:1: not TOML: keys and values nest deeper than 128");
}

}  // namespace
}  // namespace penstock::partition
