#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "layers/nn/linear.h"
#include "partition/planner/choose/find_best_plan.h"
#include "partition/planner/choose/stage_memory.h"
#include "partition/planner/choose/with_found_schedule.h"
#include "partition/schedule/make_schedule.h"
#include "tests/support/partition/planned_sequence.h"

namespace penstock::partition {
namespace {

class Lots {
 public:
  explicit Lots(unsigned seed) : random_(seed) {}
  int whole(int low, int high) { return std::uniform_int_distribution(low, high)(random_); }
  double real(double low, double high) {
    return std::uniform_real_distribution(low, high)(random_);
  }
  bool one_in(int n) { return whole(1, n) == 1; }

 private:
  std::mt19937 random_;
};

LayerSequence ragged_sequence(Lots& lots) {
  LayerSequence sequence{.layers = {}, .features = 6};
  int channels = sequence.features;
  const int layers = lots.whole(7, 13);
  for (int layer = 0; layer < layers; ++layer) {
    const int next = lots.whole(3, 17);
    sequence.layers.push_back(std::make_unique<layers::Linear>(
        layers::LinearOptions{fmt::format("layer{}", layer), channels, next}));
    channels = next;
  }
  return sequence;
}

/// Ragged layers, micro-batches, devices and links, on a given number of stages and replicas.
class RaggedPlanning {
 public:
  explicit RaggedPlanning(unsigned seed) : lots_(seed), sequence_(ragged_sequence(lots_)) {
    const int stages = lots_.whole(2, 4), replicas = stages < 4 && lots_.one_in(3) ? 2 : 1;
    problem_ = test::planned_sequence(sequence_, stages * replicas, 1e9);
    problem_.constraints.stages = stages;
    problem_.constraints.replicas = replicas;
    problem_.constraints.batches = {{.seconds = 4, .micro_batches = replicas * lots_.whole(3, 9)}};
    problem_.search.find_effort = 60'000;
    problem_.constraints.keeps_order = lots_.one_in(2);
    draw_costs();
    draw_cluster();
    draw_lengths();
    problem_.constraints.recomputed = ChosenLayers();
    if (lots_.one_in(2)) problem_.constraints.recomputed.reset();
  }

  /// Within the bytes that the schedule takes without recomputation, in some of the draws less.
  void limit(const std::string& schedule) {
    const auto named = with({schedule});
    if (!named) return;
    const double max = std::ranges::max(
        StageMemory(problem_, named->candidate()).of_stages(named->candidate().begin));
    const double share = lots_.one_in(3) ? 0.85 : 1;
    for (Device& device : problem_.cluster.devices) device.memory = share * max;
  }

  /// Nothing where none fits.
  std::optional<BestPlan> with(std::vector<std::string> schedules, bool finds = false) const {
    PlanningProblem problem = problem_;
    problem.constraints.schedules = std::move(schedules);
    problem.search.finds = problem.search.finds_only = finds;
    try {
      return find_best_plan(problem);
    } catch (const ConfigError&) {
      return std::nullopt;
    }
  }
  const PlanningProblem& problem() const { return problem_; }

 private:
  void draw_costs() {
    std::vector<LayerCost> of_frame;
    for (int layer = 0; layer < sequence_.size(); ++layer) {
      const double forward = lots_.real(0.5, 4);
      of_frame.push_back({"", forward, forward * lots_.real(0.5, 1.5), forward * lots_.real(0, 1)});
    }
    problem_.model.costs = [of_frame](const MicroBatchLengths& lengths) {
      double frames = 0;
      for (const std::int64_t length : lengths.frames) frames += static_cast<double>(length);
      std::vector<LayerCost> costs = of_frame;
      for (LayerCost& cost : costs) {
        cost.forward *= frames;
        cost.backward_input *= frames;
        cost.backward_weight *= frames;
      }
      return costs;
    };
  }
  void draw_cluster() {
    problem_.cluster.node_links = {
        {.latency = lots_.real(0, 2), .bandwidth = lots_.one_in(2) ? 1e6 : 500}};
    for (Device& device : problem_.cluster.devices) device.speed = lots_.one_in(3) ? 2 : 1;
  }
  void draw_lengths() {
    const auto own = static_cast<std::size_t>(problem_.constraints.batches.front().micro_batches);
    std::vector<std::vector<std::int64_t>> frames(2, std::vector<std::int64_t>(own));
    for (auto& step : frames)
      for (std::int64_t& length : step) length = lots_.whole(2, 12);
    problem_.model.sample = [frames](const BatchDivision& batch, int replicas) {
      std::vector<SampledStep> steps(frames.size());
      for (std::size_t s = 0; s < frames.size(); ++s) {
        std::vector<std::int64_t> placed = frames[s], longest = frames[s];
        std::ranges::sort(longest, std::greater());
        for (std::size_t place = 0; place < batch.order.size(); ++place)
          placed[place] = longest[static_cast<std::size_t>(batch.order[place])];
        for (int m = 0; m < batch.micro_batches; ++m) {
          steps[s].audio_seconds += batch.seconds;
          steps[s].micro_batches.push_back({{placed[static_cast<std::size_t>(m)], 5}, {}});
          steps[s].replica.push_back(m % replicas);
        }
      }
      return steps;
    };
  }

  Lots lots_;
  LayerSequence sequence_;
  PlanningProblem problem_;
};

std::vector<std::string> all_named() {
  std::vector<std::string> names;
  for (const auto name : schedule_names()) names.emplace_back(name);
  return names;
}

enum class Layout { one_chunk, down_and_up, round };

Layout layout_of(const Candidate& candidate) {
  const std::vector<int> ranks = ranks_of_chunks(candidate);
  if (std::ssize(ranks) == candidate.stages) return Layout::one_chunk;
  return ranks.back() == 0 ? Layout::down_and_up : Layout::round;
}

TEST(FoundNeverLoses, ToNamedSchedulesThatFit) {
  std::map<Layout, int> faster;
  int compared = 0;
  for (unsigned draw = 0; draw < 40; ++draw) {
    RaggedPlanning planning(draw);
    const auto names = all_named();
    if (draw % 2 == 1) planning.limit(names[draw / 2 % names.size()]);
    const auto found = planning.with(names, true);
    double best = 1e300;
    for (const std::string& name : names) {
      const auto named = planning.with({name});
      if (!named) continue;
      ASSERT_TRUE(found) << name << " draw " << draw;
      ++compared;
      best = std::min(best, named->estimate().step_seconds);
      EXPECT_LE(found->estimate().step_seconds, named->estimate().step_seconds * (1 + 1e-9))
          << name << " draw " << draw;
    }
    if (!found) continue;
    EXPECT_EQ(found->candidate().schedule, "found");
    EXPECT_FALSE(
        StageMemory(planning.problem(), found->candidate()).too_full(found->candidate().begin));
    if (found->estimate().step_seconds < best * (1 - 1e-6)) ++faster[layout_of(found->candidate())];
  }
  EXPECT_GE(compared, 200);
  EXPECT_GE(faster[Layout::one_chunk], 2);
  EXPECT_GE(faster[Layout::down_and_up], 2);
  EXPECT_GE(faster[Layout::round], 2);
}

}  // namespace
}  // namespace penstock::partition
