#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/nccl.h"
#include "configs/config_folder.h"
#include "configs/load.h"
#include "layers/models/conformer.h"
#include "layers/models/families.h"
#include "partition/planner/cluster/cluster_file.h"
#include "partition/planner/plan/plan_file.h"
#include "runtime/planning/cluster_problem.h"
#include "runtime/planning/plan.h"
#include "runtime/planning/planning.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class PlanForCluster : public testing::Test {
 protected:
  PlanForCluster() { test::write_tone_corpus(in("train.jsonl"), 13, 1); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  configs::Config recipe(std::vector<std::string> overrides = {}) const {
    return configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")),
                                 "recipe.toml", layers::model_families(), overrides);
  }
  /// Two devices and two faster ones, of so much memory each.
  static partition::Cluster mixed(const std::string& gib) {
    return partition::parse_cluster(
        "[kinds.slow]\nmemory_gib = " + gib + "\nspeed = 1\n[kinds.fast]\nmemory_gib = " + gib +
            "\nspeed = 3\n[[node]]\nname = \"a\"\ndevices = { slow = 2 }\n"
            "within = { latency_us = 1, gb_per_s = 1 }\n[[node]]\nname = \"b\"\n"
            "devices = { fast = 2 }\nwithin = { latency_us = 1, gb_per_s = 1 }\n"
            "[between]\nlatency_us = 5\ngb_per_s = 1\n",
        "mixed.toml");
  }

  test::TemporaryFolder folder_;
};

TEST_F(PlanForCluster, RanksAreDevicesInTheClustersOrder) {
  const ClusterPlan planned = plan_for_cluster(recipe(), mixed("4"), {.stages = 2, .replicas = 1});
  ASSERT_EQ(planned.plan.stages(), 2);
  std::vector<int> used;
  for (const auto& stage : planned.best_plan.candidate().devices) used.push_back(stage[0]);
  EXPECT_EQ(std::ranges::min(used), 2);  // the fast ones
  for (int k = 0; k < 2; ++k) EXPECT_EQ(planned.plan.ranks[k][0], used[k] - 2);
  EXPECT_EQ(planned.recipe.pipeline.stages, 2);
  EXPECT_EQ(planned.plan.micro_batches, recipe().data.micro_batches);
  EXPECT_EQ(planned.plan.chunks.back().last(), planned.sequence->size());
}

/// Two devices of each kind in one node.
partition::Cluster of_devices(const std::string& kinds, const std::string& devices) {
  return partition::parse_cluster(kinds + "[[node]]\nname = \"a\"\ndevices = { " + devices +
                                      " }\nwithin = { latency_us = 1, gb_per_s = 100 }\n",
                                  "kinds.toml");
}

TEST_F(PlanForCluster, IsForTheClustersDevices) {
  const partition::Cluster cluster = of_devices("[kinds.a]\ndevice = \"h100\"\n", "a = 2");
  EXPECT_EQ(cluster.devices[0].memory, 80 * kGib);
  const ClusterPlan planned =
      plan_for_cluster(recipe({"trainer.device=cpu"}), cluster, {.believes = true});
  EXPECT_EQ(planned.problem.model.sizes.device, layers::DeviceKind::cuda);
  EXPECT_NE(planned.problem.model.costs_from.find("rates of h100"), std::string::npos);
  ASSERT_TRUE(planned.believed);
  const double step = planned.best_plan.estimate().step_seconds;
  EXPECT_LT(planned.believed->fastest_s, step);
  EXPECT_GT(planned.believed->slowest_s, step);
  EXPECT_EQ(planned.believed->sensitivity.assumptions.size(), 14u);
  EXPECT_FALSE(plan_for_cluster(recipe(), cluster, {}).believed);
}

/// A kind with wider errors widens the range, though it is not the first.
TEST_F(PlanForCluster, BelievesEveryKindByItsOwnErrors) {
  const auto device = [&](const std::string& name, double error) {
    std::string text = test::read_file(configs::config_folder() / "devices/l4.toml");
    const std::regex errors("error = [0-9.]+");
    text = std::regex_replace(text, errors, fmt::format("error = {}", error));
    test::write_file(in(name), text);
    return in(name).string();
  };
  const std::string sure = device("sure.toml", 0.05), unsure = device("unsure.toml", 0.5);
  const auto width = [&](const std::string& first, const std::string& second) {
    const partition::Cluster cluster = of_devices(
        fmt::format("[kinds.a]\ndevice = \"{}\"\n[kinds.b]\ndevice = \"{}\"\n", first, second),
        "a = 1, b = 1");
    const ClusterPlan planned =
        plan_for_cluster(recipe(), cluster, {.stages = 2, .replicas = 1, .believes = true});
    EXPECT_NE(planned.problem.model.costs_from.find(second), std::string::npos);
    return planned.believed->slowest_s / planned.believed->fastest_s;
  };
  const double both_sure = width(sure, sure), both_unsure = width(unsure, unsure);
  EXPECT_GT(both_unsure, 1.5 * both_sure);
  for (const double mixed : {width(sure, unsure), width(unsure, sure)}) {
    EXPECT_GT(mixed, 1.1 * both_sure);
    EXPECT_LE(mixed, 1.0001 * both_unsure);
  }
}

TEST_F(PlanForCluster, SpeedsFollowFromRatesForTheModel) {
  const partition::Cluster cluster = of_devices(
      "[kinds.a]\ndevice = \"a100-80\"\n[kinds.b]\ndevice = \"l4\"\nspeed = 7\n"
      "[kinds.c]\nmemory_gib = 4\nspeed = 0.75\n",
      "a = 1, b = 1, c = 1");
  const auto speed = [&](const std::vector<std::string>& overrides, const std::string& kind) {
    const ClusterPlan planned = plan_for_cluster(recipe(overrides), cluster, {});
    return std::ranges::find(planned.problem.cluster.devices, kind, &partition::Device::kind)
        ->speed;
  };
  EXPECT_EQ(speed({}, "a"), 1);
  EXPECT_EQ(speed({}, "c"), 0.75);
  EXPECT_GT(speed({}, "b"), 0.1);
  // Its multiprocessors have the higher clock: on small layers it is not the slower one.
  EXPECT_LT(speed({"model.hidden=1024"}, "b"), 0.8 * speed({}, "b"));
}

TEST_F(PlanForCluster, RatesOfDevicesCountInPlaceOfSpeed) {
  const partition::Cluster cluster =
      of_devices("[kinds.a]\ndevice = \"l4\"\nspeed = 0.25\n", "a = 2");
  for (const partition::Device& device :
       plan_for_cluster(recipe(), cluster, {}).problem.cluster.devices)
    EXPECT_EQ(device.speed, 1);
}

TEST_F(PlanForCluster, RefusesKindsOfDifferentBackends) {
  const partition::Cluster cluster =
      of_devices("[kinds.a]\ndevice = \"l4\"\n[kinds.b]\ndevice = \"cpu-avx2\"\n", "a = 1, b = 1");
  try {
    (void)plan_for_cluster(recipe(), cluster, {});
    FAIL() << "planned";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("l4 on cuda and cpu-avx2 on cpu"), std::string::npos)
        << error.what();
  }
}

TEST_F(PlanForCluster, NamesItsRatesAndWhatIsNotCounted) {
  const partition::PlanningProblem of_cpu =
      plan_for_cluster(recipe({"trainer.device=cpu"}), mixed("4"), {}).problem;
  EXPECT_NE(of_cpu.model.costs_from.find("of a CPU core"), std::string::npos);
  EXPECT_NE(of_cpu.model.costs_from.find("name their device in the cluster file"),
            std::string::npos);
  EXPECT_EQ(of_cpu.model.not_counted, "");
  const partition::PlanningProblem of_gpu =
      plan_for_cluster(recipe({"trainer.device=cuda"}), mixed("4"), {}).problem;
  EXPECT_NE(of_gpu.model.costs_from.find("rates of an H100"), std::string::npos);
  EXPECT_EQ(of_gpu.model.not_counted, "");
}

TEST_F(PlanForCluster, GoesWithoutAMissingValidationManifest) {
  const auto planned = plan_for_cluster(
      recipe({"trainer.device=cpu", "data.validation=/gone.jsonl"}), mixed("4"), {});
  EXPECT_EQ(planned.problem.model.not_counted, "validation: the manifest /gone.jsonl is not here");
  EXPECT_EQ(planned.plan, plan_for_cluster(recipe({"trainer.device=cpu"}), mixed("4"), {}).plan);
}

TEST_F(PlanForCluster, NamesAWrongScheduleBeforeItReads) {
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)plan_for_cluster(recipe({"data.train=/gone.jsonl"}), mixed("4"),
                                     {.schedule = "zbv"});
            }).find("did you mean zb-v?"),
            std::string::npos);
}

TEST_F(PlanForCluster, IsTheSameForTheSameSeed) {
  const auto plan = [&] { return plan_for_cluster(recipe(), mixed("4"), {.seed = 7}); };
  const ClusterPlan planned = plan();
  EXPECT_EQ(planned.plan, plan().plan);
  EXPECT_FALSE(std::filesystem::exists(in("output")));
}

/// The thread sanitiser runs these alone.
class PlanForClusterThreads : public PlanForCluster {};

// Memory binds here, so that the threads ask for the bytes of many chunks at once.
TEST_F(PlanForClusterThreads, ChooseTheSame) {
  const configs::Config config = recipe({"pipeline.memory_gib=0.001"});
  const auto plan = [&](int threads) {
    return plan_for_cluster(config, mixed("4"),
                            {.free_batch = true, .believes = true, .threads = threads});
  };
  const ClusterPlan alone = plan(1), many = plan(4);
  EXPECT_EQ(many.plan, alone.plan);
  ASSERT_EQ(many.best_plan.results.size(), alone.best_plan.results.size());
  EXPECT_GT(alone.best_plan.results.size(), 20u);
  EXPECT_TRUE(std::ranges::any_of(alone.best_plan.results, [](const auto& one) {
    return !one.candidate.recomputed.empty() || one.candidate.shards_optimizer;
  }));
  for (std::size_t i = 0; i < alone.best_plan.results.size(); ++i)
    EXPECT_EQ(many.best_plan.results[i].step_seconds(1), alone.best_plan.results[i].step_seconds(1))
        << i;
}

TEST_F(PlanForCluster, KeepsTheGlobalBatchWhereItIsFree) {
  const configs::Config config = recipe();
  const ClusterPlan planned = plan_for_cluster(config, mixed("4"), {.free_batch = true});
  const configs::DataConfig& data = planned.recipe.data;
  EXPECT_NEAR(data.micro_batch_seconds * data.micro_batches,
              config.data.micro_batch_seconds * config.data.micro_batches, 1e-9);
  EXPECT_EQ(planned.plan.micro_batches, data.micro_batches);
  const ClusterPlan three =
      plan_for_cluster(config, mixed("4"), {.micro_batches = 3, .free_batch = true});
  EXPECT_EQ(three.plan.micro_batches, 3);
}

TEST_F(PlanForCluster, ItsFileDividesTheStep) {
  configs::Config config = recipe();
  config.data.batch_seconds = config.data.micro_batch_seconds * config.data.micro_batches;
  const ClusterPlan planned =
      plan_for_cluster(config, mixed("4"), {.micro_batches = 3, .free_batch = true});
  config.pipeline.plan = in("plan.toml").string();
  partition::write_plan(config.pipeline.plan, planned.plan);
  const configs::DataConfig data = with_plan_file(config).data;
  EXPECT_EQ(data.micro_batches, 3);
  EXPECT_EQ(data.micro_batch_seconds, planned.recipe.data.micro_batch_seconds);
  EXPECT_DOUBLE_EQ(3 * data.micro_batch_seconds, config.data.batch_seconds);
}

TEST_F(PlanForCluster, ShardsTheOptimizerWhereMemoryIsShort) {
  const ClusterConstraints constraints{.stages = 1, .replicas = 2, .schedule = "gpipe"};
  const auto plan = [&](double gib, bool shards) {
    configs::Config config = recipe();
    config.pipeline.shard_optimizer = shards;
    config.pipeline.recompute = "layers";  // and no others to make room
    config.pipeline.recompute_layers = {"norm2"};
    return plan_for_cluster(config, mixed(fmt::format("{:f}", gib)), constraints);
  };
  const auto gib = [](const ClusterPlan& planned) {
    return static_cast<double>(planned.plan.bytes_of(0).total()) / (1 << 30);
  };
  const ClusterPlan asked = plan(4, true);
  EXPECT_TRUE(asked.best_plan.candidate().shards_optimizer);
  const ClusterPlan whole = plan(4, false);
  ASSERT_FALSE(
      whole.best_plan.candidate().shards_optimizer);  // a gather takes longer than an update
  ASSERT_LT(gib(asked), gib(whole));
  double memory = 1.3 * gib(whole);  // the search counts steps of any epoch
  ClusterPlan tight = plan(memory, false);
  while (!tight.best_plan.candidate().shards_optimizer) tight = plan(memory *= 0.98, false);
  EXPECT_EQ(tight.plan.shards_optimizer, std::optional(true));
  EXPECT_LE(gib(tight), memory);
  EXPECT_GT(tight.plan.bytes_of(0).sharded_away, 0u);
  configs::Config run = recipe();
  run.pipeline.plan = in("plan.toml").string();
  partition::write_plan(run.pipeline.plan, tight.plan);
  EXPECT_TRUE(with_plan_file(run).pipeline.shard_optimizer);
}

/// Two nodes of two equal devices.
partition::Cluster two_nodes() {
  return partition::parse_cluster(
      "[kinds.a]\nmemory_gib = 4\nspeed = 1\n[[node]]\nname = \"n\"\ncount = 2\n"
      "devices = { a = 2 }\nwithin = { latency_us = 1, gb_per_s = 100 }\n"
      "[between]\nlatency_us = 50\ngb_per_s = 10\n",
      "two.toml");
}

TEST_F(PlanForCluster, SizesBucketsByTheSlowestLink) {
  const ClusterConstraints two{.stages = 1, .replicas = 2};
  const ClusterPlan planned = plan_for_cluster(recipe(), two_nodes(), two);
  EXPECT_EQ(planned.plan.bucket_bytes, 10 << 20);  // 10 · 50 µs · 10 GB/s · 2, in whole MiB
  EXPECT_EQ(plan_for_cluster(recipe(), two_nodes(), {.stages = 1, .replicas = 1}).plan.bucket_bytes,
            0);
  const configs::Config fixed = recipe({"pipeline.bucket_bytes=8192"});
  EXPECT_EQ(plan_for_cluster(fixed, two_nodes(), two).plan.bucket_bytes, 8192);
  configs::Config run = recipe();
  run.pipeline.plan = in("plan.toml").string();
  partition::write_plan(run.pipeline.plan, planned.plan);
  EXPECT_EQ(with_plan_file(run).pipeline.bucket_bytes, 10 << 20);
  run.pipeline.bucket_bytes = 8192;
  EXPECT_EQ(with_plan_file(run).pipeline.bucket_bytes, 8192);
}

TEST_F(PlanForCluster, ReplicasOfANodeAreNeighbours) {
  for (const int stages : {1, 2}) {
    const ClusterPlan planned = plan_for_cluster(recipe({"trainer.lanes=4"}), two_nodes(),
                                                 {.stages = stages, .replicas = 4 / stages});
    for (const std::vector<int>& replicas : planned.plan.ranks) {
      std::vector<int> nodes;  // one after the other
      for (const int rank : replicas)
        if (nodes.empty() || nodes.back() != rank / 2) nodes.push_back(rank / 2);
      EXPECT_EQ(nodes.size(), std::set(nodes.begin(), nodes.end()).size())
          << testing::PrintToString(planned.plan.ranks);
    }
  }
}

TEST_F(PlanForCluster, CountsBuffersOfNcclWithoutIt) {
  const partition::Cluster cluster = of_devices("[kinds.a]\ndevice = \"h100\"\n", "a = 2");
  const ClusterPlan planned = plan_for_cluster(recipe(), cluster, {.stages = 2, .replicas = 1});
  const std::size_t edge = 2 * comm::nccl_memory(1);
  for (int k = 0; k < 2; ++k) EXPECT_GE(planned.plan.bytes_of(k).messages, edge) << k;
  const ClusterPlan replicas = plan_for_cluster(recipe(), cluster, {.stages = 1, .replicas = 2});
  EXPECT_GE(replicas.plan.bytes_of(0).reduction, comm::nccl_memory(2));
}

TEST_F(PlanForCluster, BatchDivisionsHoldTheLongestUtterance) {
  configs::DataConfig data;
  data.micro_batch_seconds = 6;
  data.micro_batches = 4;
  const auto choices = batch_divisions(data, 1.9, 100);
  std::vector<int> numbers;
  for (const partition::BatchDivision& candidate : choices) {
    numbers.push_back(candidate.micro_batches);
    EXPECT_DOUBLE_EQ(candidate.seconds * candidate.micro_batches, 24);
  }
  EXPECT_EQ(numbers, (std::vector{1, 2, 3, 4, 6, 8, 12}));
  EXPECT_EQ(batch_divisions(data, 1.9, 2).size(), 2u);
}

TEST_F(PlanForCluster, LanesAndMemoryLimitIt) {
  EXPECT_EQ(plan_for_cluster(recipe({"trainer.lanes=1"}), mixed("4"), {}).plan.replicas(), 1);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)plan_for_cluster(recipe(), mixed("0.00001"), {});
            }).find("memory binds"),
            std::string::npos);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)plan_for_cluster(recipe({"pipeline.memory_gib=0.00001"}), mixed("4"), {});
            }).find("memory binds"),
            std::string::npos);
  EXPECT_NE(test::message_of<ConfigError>([&] {
              (void)plan_for_cluster(recipe(), mixed("4"), {.schedule = "2f2b"});
            }).find("pipeline.schedule"),
            std::string::npos);
}

TEST_F(PlanForCluster, IsNoSlowerThanNamedRecomputation) {
  const ClusterConstraints constraints{.stages = 1, .replicas = 1, .schedule = "gpipe"};
  const auto of = [&](const std::string& recompute) {
    configs::Config config = recipe({"pipeline.recompute=" + recompute});
    config.model = {.features = 41,
                    .family = layers::ConformerOptions{.width = 36, .heads = 3, .layers = 2}};
    return config;
  };
  const auto plan = [&](const std::string& recompute, double gib) {
    return plan_for_cluster(of(recompute), mixed(fmt::format("{:f}", gib)), constraints);
  };
  const auto speed = [&](const std::string& recompute, double gib) -> std::optional<double> {
    try {
      return plan(recompute, gib).best_plan.estimate().speed();
    } catch (const ConfigError&) {
      return std::nullopt;  // too large
    }
  };
  const ClusterPlan kept = plan("none", 4), named = plan("selective", 4);
  EXPECT_EQ(kept.plan.recomputes_within, std::optional(false));
  EXPECT_EQ(named.plan.recomputes_within, std::optional(true));
  ASSERT_LT(named.plan.bytes_of(0).total(), kept.plan.bytes_of(0).total());

  const double min = static_cast<double>(named.plan.bytes_of(0).total()) / (1 << 30);
  double with_less = 0;  // memory
  int fitted = 0;
  for (const double share : {0.9, 1.0, 1.1, 1.2, 1.3, 1.35, 1.4, 1.5}) {
    const auto chosen = speed("none", share * min);
    ASSERT_TRUE(chosen) << share;
    EXPECT_GE(*chosen, with_less) << share;
    with_less = *chosen;
    for (const char* recompute : {"selective", "stage"})
      if (const auto other = speed(recompute, share * min)) {
        EXPECT_GE(*chosen, *other) << recompute << " " << share;
        ++fitted;
      }
  }
  EXPECT_GT(fitted, 8);  // "selective" among them
  EXPECT_DOUBLE_EQ(with_less, kept.best_plan.estimate().speed());

  configs::Config run = of("none");  // obeys the plan
  run.data.micro_batches = named.plan.micro_batches;
  run.pipeline.plan = in("plan.toml").string();
  partition::write_plan(run.pipeline.plan, named.plan);
  EXPECT_EQ(with_plan_file(run).pipeline.recompute, "selective");
}

TEST_F(PlanForCluster, RecomputesAsMuchAsMemoryNeeds) {
  const ClusterConstraints constraints{.stages = 1, .replicas = 1, .schedule = "gpipe"};
  const auto plan = [&](const std::string& recompute, const std::string& gib) {
    const std::string full_steps = "data.micro_batches=2";
    return plan_for_cluster(recipe({"pipeline.recompute=" + recompute, full_steps}), mixed(gib),
                            constraints);
  };
  const auto gib = [](const ClusterPlan& planned) {
    return static_cast<double>(planned.plan.bytes_of(0).total()) / (1 << 30);
  };
  const ClusterPlan kept = plan("none", "4"), stage = plan("stage", "4");
  EXPECT_EQ(kept.recipe.pipeline.recompute, "none");
  EXPECT_EQ(stage.recipe.pipeline.recompute, "stage");
  ASSERT_LT(gib(stage), gib(kept));
  const double between = (gib(kept) + gib(stage)) / 2;
  const ClusterPlan tight = plan("none", fmt::format("{:f}", between));
  EXPECT_EQ(tight.recipe.pipeline.recompute, "layers");
  EXPECT_EQ(*tight.plan.recomputed(), tight.best_plan.candidate().recomputed);
  EXPECT_LE(gib(tight), between);
  EXPECT_GT(tight.best_plan.estimate().speed(), stage.best_plan.estimate().speed());
  EXPECT_LT(tight.best_plan.estimate().speed(), kept.best_plan.estimate().speed());

  configs::Config named = recipe();  // the recipe's own choice is kept
  named.pipeline.recompute = "layers";
  named.pipeline.recompute_layers = {"norm2"};
  EXPECT_EQ(plan_for_cluster(named, mixed("4"), constraints).recipe.pipeline.recompute_layers,
            named.pipeline.recompute_layers);
}

}  // namespace
}  // namespace penstock::runtime
