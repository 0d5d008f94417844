#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "partition/cost/cost.h"
#include "partition/plan/plan.h"
#include "partition/plan/planner.h"
#include "partition/search/problem.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// A run whose layers have been cut into the chunks of some schedule, as its lists need it.
struct CutRun {
  partition::Plan plan;  // without lists
  /// For a replica's mean micro-batch of every size, or in the run's order.
  partition::ScheduleProblem problem;
  /// [chunk][micro-batch]: seconds of an offload or a reload; empty: pipeline.resident is 0.
  std::vector<std::vector<double>> copies = {};
};

/// Cuts of one recipe's run for lists of several schedules.
class CutRuns {
 public:
  /// What is given must outlive it. Micro-batches are in trainer.order, or by size.
  CutRuns(const partition::LayerSequence& sequence, const configs::Config& config,
          const RunShape& shape, const std::vector<partition::LayerCost>& costs, bool in_order);

  /// The fastest cut into chunks as that schedule has them, for lists that hold as it does with
  /// backward in two parts or, where that does not fit, as little as one micro-batch. The problem's
  /// memory is what a rank has: pipeline.memory_gib, but for twice as many micro-batches as stages
  /// at most; without that limit as many as stages. ConfigError as make_plan.
  [[nodiscard]] CutRun like(const std::string& schedule);
  /// The fastest cut for the schedule itself; its problem has no limit. ConfigError as make_plan.
  [[nodiscard]] CutRun exactly(const std::string& schedule);
  /// Of one step with these lists, whose micro-batch i is the problem's order[i], as simulated with
  /// the copies of pipeline.resident.
  [[nodiscard]] double step_seconds(const CutRun& run, const partition::Schedule& lists,
                                    const std::vector<int>& order) const;
  /// The cut run's plan with these lists. ConfigError where pipeline.memory_gib does not suffice.
  [[nodiscard]] partition::Plan with_lists(const CutRun& run, const partition::Schedule& lists);

  /// Micro-batches of the busiest replica.
  int own() const { return own_; }

 private:
  partition::PlanRequest request_for(const std::string& schedule) const;
  partition::RunSchedule in_parts(const std::string& schedule) const;
  CutRun cut_run(const partition::PlanRequest& request, const partition::ChunkBytes& bytes);
  std::vector<std::vector<double>> copies_of(const partition::Plan& plan,
                                             const partition::ChunkBytes& bytes) const;
  partition::ScheduleProblem problem_of(const partition::Plan& plan);
  void limit(const partition::ChunkBytes& bytes, CutRun& run) const;
  int room_of(const partition::ChunkBytes& bytes, const partition::Plan& plan, int stage) const;

  const partition::LayerSequence& sequence_;
  const configs::Config& config_;
  const RunShape& shape_;
  const std::vector<partition::LayerCost>& costs_;
  bool in_order_;
  int own_ = 1;
  RunBytes bytes_;
  partition::PlanRequest request_;
  /// Of a cut, [chunk][place].
  std::map<std::vector<int>, std::vector<std::vector<partition::ChunkTimes>>> times_;
};

}  // namespace penstock::runtime
