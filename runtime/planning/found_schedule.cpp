#include "runtime/planning/found_schedule.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <utility>

#include "base/error.h"
#include "comm/collectives.h"
#include "partition/planner/search/lower_bound.h"
#include "partition/planner/simulate/memory.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/planning/cut_runs.h"
#include "runtime/planning/planning.h"

namespace penstock::runtime {
namespace {

/// Returns a named schedule for each layout of chunks that the model has enough layers for. With
/// one stage, several chunks gain nothing.
std::vector<const char*> layouts(const partition::LayerSequence& sequence, int stages) {
  if (stages == 1) return {"zb-h1"};
  std::vector<const char*> names;
  for (const char* name : {"zb-h1", "zb-v", "interleaved", "interleaved-3", "interleaved-4"})
    if (std::ssize(partition::chunk_ranks(name, stages)) <= sequence.size()) names.push_back(name);
  return names;
}

std::vector<int> as_given(int micro_batches) {
  std::vector<int> order(static_cast<std::size_t>(micro_batches));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

/// The action lists that the search found for one layout.
struct Found {
  CutRun run;
  partition::FoundSchedule lists;
};

/// The results of all layouts that were searched, and why a layout has none.
struct Search {
  std::vector<Found> found;
  std::exception_ptr refused;
};

/// Searches every layout in turn and divides the effort evenly among them. A layout is skipped if
/// the lower bound of its step is not below the shortest step found so far. Steps are simulated.
Search search(const partition::LayerSequence& sequence, const configs::Config& config,
              CutRuns& cuts, partition::SearchOptions options) {
  Search search;
  std::vector<CutRun> runs;
  for (const char* layout : layouts(sequence, config.pipeline.stages)) try {
      runs.push_back(cuts.like(layout));
    } catch (const ConfigError&) {
      if (!search.refused) search.refused = std::current_exception();
    }
  options.effort /= std::max<std::int64_t>(1, std::ssize(runs));
  double min = std::numeric_limits<double>::infinity();
  for (CutRun& run : runs) {
    if (partition::lower_bound(run.problem) >= min) continue;
    auto lists = partition::find_schedule(run.problem, options);
    min = std::min(min, cuts.step_seconds(run, lists.schedule, lists.order));
    search.found.push_back({std::move(run), std::move(lists)});
  }
  return search;
}

/// Returns true if no rank holds more micro-batches than a run without a memory limit may hold.
bool holds_few(const partition::Schedule& lists, int stages, int own) {
  const int max = std::ranges::max(partition::peak_activations(lists));
  return max * stages <= std::min(own, stages) * lists.chunks();
}

/// Keeps the plan with the shortest step among those that fit.
class Fastest {
 public:
  Fastest(const configs::Config& config, CutRuns& cuts, std::exception_ptr refused)
      : config_(config), cuts_(cuts), refused_(std::move(refused)) {}

  void consider(const CutRun& run, const partition::Schedule& lists) {
    const double seconds = cuts_.step_seconds(run, lists, as_given(cuts_.own()));
    if (plan_ && seconds >= seconds_) return;
    try {
      plan_ = cuts_.with_lists(run, lists);
      seconds_ = seconds;
    } catch (const ConfigError&) {
      if (!refused_) refused_ = std::current_exception();
    }
  }

  /// Considers a named schedule with the cut that a run of that schedule gets.
  void consider_named(std::string_view name) {
    const int stages = config_.pipeline.stages;
    partition::Schedule lists = partition::make_schedule(name, stages, cuts_.own());
    if (config_.pipeline.memory_gib == 0 && !holds_few(lists, stages, cuts_.own())) return;
    lists.name = partition::kFound;
    try {
      consider(cuts_.exactly(std::string(name)), lists);
    } catch (const ConfigError&) {  // too few layers, or too little memory
    }
  }

  partition::Plan plan() && {
    if (!plan_) std::rethrow_exception(refused_);
    return std::move(*plan_);
  }

 private:
  const configs::Config& config_;
  CutRuns& cuts_;
  std::optional<partition::Plan> plan_;
  double seconds_ = 0;
  std::exception_ptr refused_;
};

}  // namespace

bool wants_order(const configs::Config& config) {
  return config.pipeline.schedule == partition::kFound && config.pipeline.plan.empty() &&
         config.trainer.order.empty();
}

std::vector<int> find_order(const partition::LayerSequence& sequence, const configs::Config& config,
                            const RunShape& shape) {
  if (config.pipeline.stages == 1) return {};
  const auto costs = computed_costs(sequence, config, shape);
  CutRuns cuts(sequence, config, shape, costs, false);
  const auto [found, refused] = search(sequence, config, cuts, {});
  if (found.empty()) std::rethrow_exception(refused);
  const auto best = std::ranges::min_element(found, {}, [&](const Found& of) {
    return cuts.step_seconds(of.run, of.lists.schedule, of.lists.order);
  });
  return partition::order_of_step(best->lists.order, config.pipeline.replicas,
                                  config.data.micro_batches);
}

std::vector<int> shared_order(comm::Communicator& world, const partition::LayerSequence& sequence,
                              const configs::Config& config, const RunShape& shape) {
  if (!wants_order(config)) return config.trainer.order;
  std::string told;
  if (world.rank() == 0)
    told = fmt::format("{}", fmt::join(find_order(sequence, config, shape), " "));
  std::istringstream text(comm::broadcast(world, told));
  std::vector<int> order;
  for (int size = 0; text >> size;) order.push_back(size);
  return order;
}

partition::Plan plan_found(const partition::LayerSequence& sequence, const configs::Config& config,
                           const RunShape& shape, const std::vector<partition::LayerCost>& costs,
                           std::int64_t effort) {
  CutRuns cuts(sequence, config, shape, costs, true);
  const auto [found, refused] =
      search(sequence, config, cuts, {.effort = effort, .keep_order = true});
  Fastest fastest(config, cuts, refused);
  for (const Found& of : found) fastest.consider(of.run, of.lists.schedule);
  for (const auto name : partition::schedule_names()) fastest.consider_named(name);
  return std::move(fastest).plan();
}

}  // namespace penstock::runtime
