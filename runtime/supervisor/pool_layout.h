#pragma once

#include <map>
#include <memory>

#include "configs/config.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/planning/recipe_data.h"

namespace penstock::runtime {

/// Stages × replicas for a number of ranks.
struct PoolLayout {
  int stages = 1, replicas = 1;
  int micro_batches = 0, lanes = 0;  // of a step; 0: as the run has them
  double step_s = 0;  // predicted, for comparison with other layouts; 0 for the recipe's own

  int ranks() const { return stages * replicas; }
  bool operator==(const PoolLayout&) const = default;
};

/// Chooses stages × replicas for as many ranks as a run has hosts for. The recipe's own layout is
/// taken if there are enough. With fewer, the planner cuts the model for every number of stages,
/// with as many replicas as there are ranks and lanes, and the fastest prediction that respects
/// pipeline.memory_gib wins. Batch and lanes stay, so results are the same to the last bit. With
/// trainer.scaling, a replica keeps its share of the recipe's step instead, and the fastest layout
/// is that of the most micro-batches a second. Costs are computed, not measured; the data are read
/// once, when first needed.
class PoolLayouts {
 public:
  explicit PoolLayouts(configs::Config recipe);
  ~PoolLayouts();

  /// Returns the layout for at most `ranks` ranks. ConfigError if no layout fits, with the reason
  /// of the largest one, or if trainer.scaling has no whole shares to give.
  [[nodiscard]] PoolLayout choose(int ranks);

 private:
  struct Model;
  PoolLayout plan(int ranks);

  configs::Config recipe_;
  std::unique_ptr<Model> model_;
  std::map<int, PoolLayout> known_;
};

}  // namespace penstock::runtime
