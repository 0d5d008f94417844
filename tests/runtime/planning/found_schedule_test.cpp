#include "runtime/planning/found_schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/load.h"
#include "configs/rules.h"
#include "layers/models/deepspeech2.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/planner/cluster/cluster.h"
#include "partition/planner/plan/plan_file.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/planning/mean_times.h"
#include "runtime/planning/plan.h"
#include "runtime/planning/planning.h"
#include "tests/support/runtime/tone_corpus.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

class FoundSchedules : public testing::Test {
 protected:
  FoundSchedules() { test::write_tone_corpus(in("train.jsonl"), 47, 1); }
  std::filesystem::path in(const std::string& name) const { return folder_.path() / name; }

  partition::Plan plan(std::vector<std::string> overrides) const {
    overrides.insert(overrides.begin(),
                     {"pipeline.schedule=found", "data.micro_batches=8", "trainer.lanes=0"});
    const configs::Config config =
        configs::parse_config(test::tone_recipe(in("train.jsonl"), "", in("output")), "recipe.toml",
                              layers::model_families(), overrides);
    return plan_for_ranks(config, false).plan;
  }

  test::TemporaryFolder folder_;
};

/// Micro-batches on all chunks of the fullest stage.
double max_in_flight(const partition::Schedule& lists) {
  const double pairs = std::ranges::max(partition::peak_activations(lists));
  return pairs * static_cast<double>(lists.ranks.size()) / lists.chunks();
}
double max_in_flight(const partition::Plan& plan) {
  return max_in_flight(partition::lists_of(plan.actions));
}

TEST_F(FoundSchedules, FindOrderAndListsForTheManifest) {
  for (const int stages : {2, 3}) {
    const partition::Plan found = plan({fmt::format("pipeline.stages={}", stages)});
    EXPECT_EQ(found.schedule, "found");
    EXPECT_EQ(found.order.size(), 8u);
    EXPECT_EQ(configs::fault_of_order(found.order, 8), "");
    EXPECT_EQ(found.actions.size(), static_cast<std::size_t>(stages));
    EXPECT_EQ(partition::schedule_of(found).of(8).micro_batches, 8);
    EXPECT_LE(max_in_flight(found), stages);
    EXPECT_EQ(found, plan({fmt::format("pipeline.stages={}", stages)}));  // nothing varies
  }
}

TEST_F(FoundSchedules, GiveEveryReplicaTheSameOrder) {
  const partition::Plan found = plan({"pipeline.stages=2", "pipeline.replicas=2"});
  EXPECT_EQ(configs::fault_of_order(found.order, 8), "");
  for (std::size_t i = 0; i < found.order.size(); i += 2) {
    EXPECT_EQ(found.order[i] % 2, 0);
    EXPECT_EQ(found.order[i + 1], found.order[i] + 1);
  }
  EXPECT_EQ(partition::lists_of(found.actions).micro_batches, 4);
}

TEST_F(FoundSchedules, KeepAnOrderThatIsThere) {
  const partition::Plan found =
      plan({"pipeline.stages=3", "trainer.order=[7, 0, 6, 1, 5, 2, 4, 3]"});
  EXPECT_EQ(found.order, (std::vector{7, 0, 6, 1, 5, 2, 4, 3}));
  EXPECT_EQ(partition::lists_of(found.actions).micro_batches, 8);
  // The lists are for the sizes in their places.
  const partition::Plan other =
      plan({"pipeline.stages=3", "trainer.order=[0, 1, 2, 3, 4, 5, 6, 7]"});
  EXPECT_EQ(other.order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_NE(other.actions, found.actions);
}

TEST_F(FoundSchedules, NeedNoOrderOnOneStage) {
  const partition::Plan found = plan({});
  EXPECT_TRUE(found.order.empty());
  EXPECT_EQ(found.actions.size(), 1u);
}

TEST_F(FoundSchedules, KeepWithinTheMemory) {
  const partition::Plan free = plan({"pipeline.stages=2"});
  const auto bytes_of = [](const partition::Plan& plan) {
    return std::max(plan.bytes_of(0).total(), plan.bytes_of(1).total());
  };
  const auto within = [&](double bytes) {
    return plan({"pipeline.stages=2", fmt::format("pipeline.memory_gib={:f}", bytes / (1 << 30))});
  };
  const auto needed = static_cast<double>(bytes_of(free));
  EXPECT_EQ(max_in_flight(free), 2);
  for (const auto& [share, held] : {std::pair{0.8, 2}, {0.63, 1}}) {
    const partition::Plan tight = within(share * needed);
    EXPECT_LE(bytes_of(tight), share * needed);
    EXPECT_EQ(max_in_flight(tight), held) << share;
  }
  const partition::Plan roomy = within(4 * needed);
  EXPECT_GT(max_in_flight(roomy), 2);
  EXPECT_LE(max_in_flight(roomy), 4);  // twice the stages
  EXPECT_THROW(within(0.1 * needed), ConfigError);
}

/// A run of micro-batches of ragged lengths through layers of ragged costs.
class RaggedRun {
 public:
  RaggedRun(int stages, int micro_batches, std::mt19937& random) {
    config_.model = {
        .features = 17,
        .family = layers::DeepSpeech2Options{.channels = 2, .hidden = 12, .layers = 2}};
    config_.text.alphabet = "abcd";
    config_.pipeline.schedule = partition::kFound;
    config_.pipeline.stages = stages;
    config_.data.micro_batches = micro_batches;
    sequence_ = partition::build_model(config_.model, 5);
    for (int size = 0; size < micro_batches; ++size)
      shape_.by_size.push_back({{std::int64_t{20} + static_cast<int>(random() % 300)}});
    std::ranges::sort(shape_.by_size, std::greater());
    shape_.micro_batches = {shape_.by_size[static_cast<std::size_t>(micro_batches / 2)].front()};
    shape_.labels = 5;
    shape_.training = {micro_batches, {1, 320, 320}};
    costs_ = computed_costs(sequence_, config_, shape_);
    for (partition::LayerCost& cost : costs_)
      for (auto method : {&partition::LayerCost::forward, &partition::LayerCost::backward_input,
                          &partition::LayerCost::backward_weight})
        cost.*method *= 0.3 + static_cast<double>(random() % 100) / 50;
    config_.trainer.order.resize(static_cast<std::size_t>(micro_batches));
    std::iota(config_.trainer.order.begin(), config_.trainer.order.end(), 0);
    std::ranges::shuffle(config_.trainer.order, random);
  }

  void allow(double bytes) { config_.pipeline.memory_gib = bytes / kGib; }
  /// Keeps `resident` micro-batches of each chunk. Copies take about as long as forwards.
  void offload(int resident) {
    config_.pipeline.resident = resident;
    double forward = 0;
    for (const partition::LayerCost& cost : costs_) forward += cost.forward;
    const auto bytes = bytes_of_run(sequence_, config_, shape_, partition::RunSchedule());
    const double copy = bytes.kept(0, sequence_.size(), 0) / partition::kHostBandwidth;
    for (partition::LayerCost& cost : costs_)
      for (auto method : {&partition::LayerCost::forward, &partition::LayerCost::backward_input,
                          &partition::LayerCost::backward_weight})
        cost.*method *= copy / forward;
  }
  double allowed() const { return config_.pipeline.memory_gib * kGib; }
  int stages() const { return config_.pipeline.stages; }

  partition::Plan found() const { return plan_found(sequence_, config_, shape_, costs_, 200'000); }
  /// Nothing where it does not fit, or there are too few layers.
  std::optional<partition::Plan> named(std::string_view schedule) const {
    configs::Config config = config_;
    config.pipeline.schedule = schedule;
    try {
      return plan_run(sequence_, config, shape_, costs_);
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }
  partition::Schedule lists(const partition::Plan& plan) const {
    return partition::schedule_of(plan).of(config_.data.micro_batches);
  }
  /// Simulated, in the run's order.
  double seconds(const partition::Plan& plan) const {
    const std::vector<int> begin = plan.cut();
    auto times =
        mean_times_by_size(sequence_, config_, shape_, costs_, begin, config_.data.micro_batches);
    for (auto& chunk : times) chunk = partition::in_order(chunk, config_.trainer.order);
    partition::Durations durations = partition::unequal_micro_batches(std::move(times));
    if (config_.pipeline.resident > 0)
      durations.compute = [this, kept = kept(plan),
                           passes = durations.compute](const partition::Action& a) {
        using enum partition::ActionKind;
        if (a.kind != offload && a.kind != reload) return passes(a);
        return kept[static_cast<std::size_t>(a.chunk)] * share_of(a.micro_batch) /
               partition::kHostBandwidth;
      };
    const auto messages = plan_request(sequence_, config_, shape_, costs_).transfers;
    durations.transfer = [&](const partition::Edge& edge, int) {
      const int front = std::min(edge.producer, edge.consumer);
      return messages[static_cast<std::size_t>(begin[static_cast<std::size_t>(front) + 1] - 1)] / 2;
    };
    return partition::simulate(lists(plan), durations).makespan;
  }

 private:
  /// Returns the bytes that the largest micro-batch keeps, of each chunk.
  std::vector<double> kept(const partition::Plan& plan) const {
    const auto bytes = bytes_of_run(sequence_, config_, shape_, partition::schedule_of(plan));
    std::vector<double> kept;
    for (const partition::ChunkPlan& chunk : plan.chunks)
      kept.push_back(bytes.kept(chunk.first, chunk.last(), static_cast<int>(kept.size())));
    return kept;
  }
  /// Returns the share of the largest micro-batch, by frames.
  double share_of(int place) const {
    const int size = config_.trainer.order[static_cast<std::size_t>(place)];
    const auto frames = shape_.by_size[static_cast<std::size_t>(size)].front().front();
    return static_cast<double>(frames) / static_cast<double>(shape_.training.micro_batch.frames);
  }

  configs::Config config_;
  partition::LayerSequence sequence_;
  RunShape shape_;
  std::vector<partition::LayerCost> costs_;
};

double fullest(const partition::Plan& plan) {
  double max = 0;
  for (int stage = 0; stage < plan.stages(); ++stage)
    max = std::max(max, static_cast<double>(plan.bytes_of(stage).total()));
  return max;
}

/// Found lists beside every named schedule within the same memory.
struct Compared {
  int fit = 0;
  bool faster = true;  // than all of them
};

Compared expect_never_worse(const RaggedRun& run, const partition::Plan& found,
                            const std::string& where) {
  Compared compared;
  const double seconds = run.seconds(found);
  EXPECT_TRUE(run.allowed() == 0 || fullest(found) <= run.allowed() * (1 + 1e-9)) << where;
  for (const std::string_view name : partition::schedule_names()) {
    const auto named = run.named(name);
    if (!named) continue;
    if (run.allowed() == 0 && max_in_flight(run.lists(*named)) > run.stages()) continue;
    ++compared.fit;
    const double other = run.seconds(*named);
    EXPECT_LE(seconds, other * (1 + 1e-9)) << name << " " << where;
    if (seconds > other * (1 - 1e-6)) compared.faster = false;
  }
  return compared;
}

bool goes_round(const partition::Plan& plan) {
  return static_cast<int>(plan.chunks.size()) > plan.stages() && plan.chunks.back().stage > 0;
}

// In half of the draws within the bytes that a named schedule takes, else within 1F1B's memory.
TEST(PlanFound, NeverLosesToNamedSchedulesThatFit) {
  std::mt19937 random(29);
  int one_chunk = 0, two_chunks = 0, rounds = 0, faster_in_bytes = 0;
  for (int draw = 0; draw < 24; ++draw) {
    const int stages = 2 + draw % 3, batches = 4 + static_cast<int>(random() % 6);
    RaggedRun run(stages, batches, random);
    const auto names = partition::schedule_names();
    const auto allowed = run.named(names[static_cast<std::size_t>(draw) % names.size()]);
    if (draw % 2 == 1 && allowed) run.allow(fullest(*allowed));
    const partition::Plan found = run.found();
    const bool one = found.chunks.size() == static_cast<std::size_t>(stages);
    one_chunk += one ? 1 : 0;
    const bool two = found.chunks.size() == 2 * static_cast<std::size_t>(stages);
    const Compared compared = expect_never_worse(run, found, fmt::format("draw {}", draw));
    EXPECT_GE(compared.fit, 1) << draw;
    two_chunks += two && compared.faster ? 1 : 0;
    rounds += goes_round(found) && compared.faster ? 1 : 0;
    faster_in_bytes += run.allowed() > 0 && compared.faster ? 1 : 0;
  }
  EXPECT_GE(one_chunk, 3);
  EXPECT_GE(two_chunks, 3);
  EXPECT_GE(rounds, 1);
  EXPECT_GE(faster_in_bytes, 6);
}

TEST(PlanFound, NeverLosesWhereOffloadTakesTime) {
  std::mt19937 random(31);
  for (int draw = 0; draw < 12; ++draw) {
    RaggedRun run(2 + draw % 2, 5 + static_cast<int>(random() % 4), random);
    run.allow(1e9);
    run.offload(1 + draw % 2);
    const Compared compared = expect_never_worse(run, run.found(), fmt::format("draw {}", draw));
    EXPECT_GE(compared.fit, 5) << draw;
  }
}

}  // namespace
}  // namespace penstock::runtime
