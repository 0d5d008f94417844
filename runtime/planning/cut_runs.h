#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "partition/planner/cost/cost.h"
#include "partition/planner/plan/plan.h"
#include "partition/planner/plan/planner.h"
#include "partition/planner/search/problem.h"
#include "runtime/planning/run_shape.h"

namespace penstock::runtime {

/// A run whose layers are cut into the chunks of a schedule, ready for the search of action lists.
struct CutRun {
  partition::Plan plan;  // without action lists
  /// Times of a replica's mean micro-batch of each size, or in the run's order.
  partition::ScheduleProblem problem;
  /// [chunk][micro-batch]: seconds of an offload or a reload. Empty if pipeline.resident is 0.
  std::vector<std::vector<double>> copies = {};
};

/// Cuts one recipe's run for the action lists of several schedules.
class CutRuns {
 public:
  /// Keeps references to its arguments, which must outlive it. If `in_order`, micro-batches are in
  /// trainer.order, else sorted by size.
  CutRuns(const partition::LayerSequence& sequence, const configs::Config& config,
          const RunShape& shape, const std::vector<partition::LayerCost>& costs, bool in_order);

  /// Returns the fastest cut into the chunks of that schedule. Memory is counted as that schedule
  /// holds micro-batches with backward in two parts or, if this does not fit, with a single
  /// micro-batch. The problem's memory is a rank's: pipeline.memory_gib, but at most twice as many
  /// micro-batches as stages. Without that limit it is as many as stages. Throws ConfigError like
  /// make_plan().
  [[nodiscard]] CutRun like(const std::string& schedule);
  /// Returns the fastest cut for the schedule itself. Its problem has no limit on memory. Throws
  /// ConfigError like make_plan().
  [[nodiscard]] CutRun exactly(const std::string& schedule);
  /// Simulates one step with these lists and returns its seconds. Micro-batch i is the problem's
  /// order[i]. Includes the copies of pipeline.resident.
  [[nodiscard]] double step_seconds(const CutRun& run, const partition::Schedule& lists,
                                    const std::vector<int>& order) const;
  /// Returns the plan of the cut run with these lists. Throws ConfigError if pipeline.memory_gib is
  /// too small.
  [[nodiscard]] partition::Plan with_lists(const CutRun& run, const partition::Schedule& lists);

  /// Returns the number of micro-batches of the busiest replica.
  int own() const { return own_; }

 private:
  partition::PlanRequest request_for(const std::string& schedule) const;
  partition::RunSchedule in_parts(const std::string& schedule) const;
  CutRun cut_run(const partition::PlanRequest& request, const partition::ChunkBytes& bytes);
  std::vector<std::vector<double>> copies_of(const partition::Plan& plan,
                                             const partition::ChunkBytes& bytes) const;
  partition::ScheduleProblem problem_of(const partition::Plan& plan);
  void limit(const partition::ChunkBytes& bytes, CutRun& run) const;
  int capacity_of(const partition::ChunkBytes& bytes, const partition::Plan& plan, int stage) const;

  const partition::LayerSequence& sequence_;
  const configs::Config& config_;
  const RunShape& shape_;
  const std::vector<partition::LayerCost>& costs_;
  bool in_order_;
  int own_ = 1;
  RunBytes bytes_;
  partition::PlanRequest request_;
  /// Times by cut: [chunk][place].
  std::map<std::vector<int>, std::vector<std::vector<partition::ChunkTimes>>> times_;
};

}  // namespace penstock::runtime
