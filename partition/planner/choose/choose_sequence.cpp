#include "partition/planner/choose/choose_sequence.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/search_limits.h"
#include "partition/planner/choose/unplaced_candidates.h"
#include "partition/planner/cut/limits.h"
#include "partition/planner/placement/adapters.h"
#include "partition/planner/placement/bound/bound.h"
#include "partition/schedule/in_flight.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// Returns the layers of a stage as one layer. Half of backward is input gradients, by assumption.
LayerCost work_of(const SequenceProfile& profile, int first, int last) {
  LayerCost cost;
  for (int i = first; i < last; ++i) {
    cost.forward += profile.layers[i].forward_ms / 1e3;
    cost.backward_input += profile.layers[i].backward_ms / 2e3;
    cost.backward_weight += profile.layers[i].backward_ms / 2e3;
  }
  return cost;
}

/// Seconds of a stage's gradient reduction, once per step.
double reduction_seconds(const SequencePlan& plan, int stage) {
  const auto& placed = plan.placed;
  if (placed.grid.replicas == 1) return 0;
  return ring(slowest_of_rings(plan.problem.cluster, placed.devices, stage), placed.grid.replicas,
              1)
      .seconds(
          plan.problem.sequence.parameters(placed.cut.begin[stage], placed.cut.begin[stage + 1]));
}

/// Returns one replica of each kind. Replicas of a kind take equally long. With shared adapters,
/// every replica is a kind of its own.
std::vector<int> replicas_that_differ(const SequencePlan& plan) {
  std::map<std::vector<double>, int> sorts;
  const Cluster& cluster = plan.problem.cluster;
  const Placement& devices = plan.placed.devices;
  for (int replica = 0; replica < plan.placed.grid.replicas; ++replica) {
    std::vector<double> sort{static_cast<double>(plan.runs_of(replica))};
    if (!cluster.adapters.empty()) sort.push_back(replica);
    for (std::size_t k = 0; k < devices.size(); ++k) {
      sort.push_back(cluster.devices[devices[k][replica]].speed);
      if (k == 0) continue;
      const int one = devices[k - 1][replica], two = devices[k][replica];
      for (const LinkRates& link : {cluster.link(one, two), cluster.link(two, one)}) {
        sort.push_back(link.latency);
        sort.push_back(link.bandwidth);
      }
    }
    sorts.try_emplace(std::move(sort), replica);
  }
  std::vector<int> replicas;
  for (const auto& [sort, replica] : sorts) replicas.push_back(replica);
  return replicas;
}

/// Returns the seconds of the slowest replica's step, or of all replicas simulated together if
/// adapters are shared.
double period_of(const SequencePlan& plan, const char* schedule, const std::vector<int>& replicas) {
  const Cluster& cluster = plan.problem.cluster;
  std::vector<std::unique_ptr<StepEstimate>> steps;
  for (const int replica : replicas)
    steps.push_back(predict_sequence_step(plan, schedule, replica));
  double slowest = 0;
  if (cluster.adapters.empty()) {
    for (const auto& step : steps) slowest = std::max(slowest, step->period());
    return slowest;
  }
  std::vector<const StepEstimate*> all(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) all[replicas[i]] = steps[i].get();
  return joint_period(all, shared_adapters(cluster, plan.placed.devices), Barrier::before_step);
}

}  // namespace

int SequencePlan::runs_of(int replica) const {
  const int replicas = placed.grid.replicas;
  return problem.micro_batches / replicas + (replica < problem.micro_batches % replicas ? 1 : 0);
}

double SequencePlan::bytes(int stage, int in_flight) const {
  return problem.sequence.bytes(placed.cut.begin[stage], placed.cut.begin[stage + 1], in_flight);
}

double SequencePlan::limit(int stage) const {
  double min = std::numeric_limits<double>::infinity();
  for (const int device : placed.devices[stage])
    min = std::min(min, problem.cluster.usable(device));
  return min;
}

std::unique_ptr<StepEstimate> predict_sequence_step(const SequencePlan& plan,
                                                    const std::string& schedule, int replica) {
  const PlacementProblem& problem = plan.problem;
  const std::vector<int>& begin = plan.placed.cut.begin;
  const int stages = plan.placed.grid.stages, runs = plan.runs_of(replica);
  std::vector<LayerCost> of_stages;
  std::vector<double> bytes;
  StepLayout layout{.begin = {0}, .schedule = make_schedule(schedule, stages, runs)};
  for (int k = 0; k < stages; ++k) {
    of_stages.push_back(work_of(plan.profile, begin[k], begin[k + 1]));
    // One message: half of a profile's transfer time, which covers both directions.
    bytes.push_back(problem.sequence.crossing(begin[k + 1]) * problem.sequence.passes() / 2);
    layout.begin.push_back(k + 1);
    layout.speeds.push_back(problem.cluster.devices[plan.placed.devices[k][replica]].speed);
    layout.reduce_seconds.push_back(reduction_seconds(plan, k));
  }
  if (problem.sequence.recomputes()) layout.recomputed.assign(stages, true);
  layout.overlap = problem.cluster.overlap;
  layout.link = [&problem, &placed = plan.placed, replica](int from, int to) {
    return problem.cluster.link(placed.devices[from][replica], placed.devices[to][replica]);
  };
  StepCosts costs;
  costs.layers.assign(runs, of_stages);
  costs.bytes.assign(runs, bytes);
  return std::make_unique<StepEstimate>(costs, std::move(layout));
}

std::vector<SequenceStep> sequence_steps(const SequencePlan& plan) {
  const int stages = plan.placed.grid.stages;
  const std::vector<int> replicas = replicas_that_differ(plan);
  std::int64_t passes = 0;
  for (const int replica : replicas) passes += std::int64_t{stages} * plan.runs_of(replica);

  std::vector<SequenceStep> steps;
  if (passes > kLimits.sequence_passes) {
    SequenceStep& step = steps.emplace_back(SequenceStep{"1f1b"});
    for (int k = 0; k < stages; ++k)
      step.in_flight.push_back(in_flight(plan.problem, plan.placed.grid, k));
    return steps;
  }
  std::size_t best = 0;
  for (const char* name : {"1f1b", "zb-h1", "zb-h2", "gpipe"}) {
    const Schedule lists = make_schedule(name, stages, plan.runs_of(0));
    if (plan.problem.sequence.recomputes() && splits_backward(lists)) continue;
    SequenceStep& step = steps.emplace_back(SequenceStep{name});
    for (int k = 0; k < stages; ++k) {
      step.in_flight.push_back(count_in_flight(lists, k).slots);
      step.fits = step.fits && plan.bytes(k, step.in_flight.back()) <= plan.limit(k);
    }
    step.seconds = period_of(plan, name, replicas);
    if (step.fits && step.seconds < steps[best].seconds * kLimits.shorter) best = steps.size() - 1;
  }
  std::rotate(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(best),
              steps.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  return steps;
}

namespace {

/// Calls visit(grid) for every grid that the constraints allow.
template <class Visit>
void for_grids(const PlacementProblem& problem, const GridConstraints& constraints, Visit visit) {
  const int devices = problem.cluster.size();
  for (int stages = 1; stages <= std::min(problem.sequence.size(), devices); ++stages)
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      const bool fixed = (constraints.stages > 0 && stages != constraints.stages) ||
                         (constraints.replicas > 0 && replicas != constraints.replicas);
      if (!fixed) visit(Grid{stages, replicas});
    }
}

/// Bounds the simulated step of a grid from below, for any cut, placement and schedule. No
/// replica's runs · stage's work / device's speed is above the step. Summed over slots, this bounds
/// the step by all work over all speeds. A stage's slowest device has at least the fewest runs of a
/// replica, and of R devices one is no faster than the R-th fastest. One micro-batch's forward and
/// input gradients take their time on the fastest device. O(stages) for a grid.
class StepBound {
 public:
  StepBound(const PlacementProblem& problem, const SequenceProfile& profile) : problem_(problem) {
    for (const Device& device : problem.cluster.devices) speeds_.push_back(device.speed);
    std::ranges::sort(speeds_, std::greater<>());
    for (const double speed : speeds_) together_.push_back(together_.back() + speed);
    for (const LayerProfile& layer : profile.layers)
      there_and_back_ += (layer.forward_ms + layer.backward_ms / 2) / 1e3 / speeds_.front();
  }

  double of(const Grid& grid) const {
    const SequenceLoad& sequence = problem_.sequence;
    const double work = sequence.work(0, sequence.size());
    double slowest = 0;
    for (int k = 0; k < grid.stages; ++k) slowest += speeds_[(k + 1) * grid.replicas - 1];
    const int min_runs = problem_.micro_batches / grid.replicas;
    const double even = problem_.micro_batches * work / together_[grid.slots()];
    const double longest =
        micro_batches_of(problem_, grid) * sequence.longest_layer() / speeds_.front();
    return std::max({even, min_runs * work / slowest, longest, there_and_back_});
  }

 private:
  const PlacementProblem& problem_;
  std::vector<double> speeds_, together_{0};  // of the fastest devices: each, and so many together
  double there_and_back_ = 0;                 // seconds
};

/// Returns the best placement's grid, then the others whose step may be shorter than `step`
/// seconds. Those with the lowest bounds on the closed form come first.
std::vector<Grid> grids_to_simulate(const PlacementProblem& problem, const SequenceProfile& profile,
                                    const GridConstraints& constraints, const Grid& best,
                                    double step) {
  const Bounds bounds(problem);
  const StepBound steps(problem, profile);
  std::vector<std::pair<double, Grid>> others;
  for_grids(problem, constraints, [&](const Grid& grid) {
    if (grid != best && steps.of(grid) < step && bounds.may_fit(grid))
      others.emplace_back(bounds.quick(grid), grid);
  });
  std::ranges::stable_sort(others, {}, [](const auto& other) { return other.first; });
  std::vector<Grid> grids{best};
  for (const auto& [bound, grid] : others)
    if (grids.size() <= kLimits.sequence_grids) grids.push_back(grid);
  return grids;
}

/// Returns `placed` with its closed form on the problem's links. It may come from free links.
PlacedSequence on_links(const PlacementProblem& problem, PlacedSequence placed) {
  const auto costs = stage_costs(problem, placed.devices);
  Cut& cut = placed.cut;
  cut.sum = cut.slowest = 0;
  for (int k = 0; k < placed.grid.stages; ++k) {
    const double load = costs[k].load(problem.sequence, cut.begin[k], cut.begin[k + 1]);
    cut.sum += load;
    cut.slowest = std::max(cut.slowest, load);
  }
  placed.value = cut.value = goal_of(problem, placed.grid).value(cut.sum, cut.slowest);
  return placed;
}

}  // namespace

std::vector<PlacedSequence> sequence_candidates(const PlacementProblem& problem,
                                                const SequenceProfile& profile,
                                                const GridConstraints& constraints,
                                                const SearchEffort& effort) {
  std::vector<PlacedSequence> found;
  if (auto best = find_placement(problem, constraints, effort)) found.push_back(std::move(*best));
  const bool weighs = problem.objective == Objective::step && problem.sequence.passes() > 1;
  if (found.empty() || !weighs) return found;
  const double step = sequence_steps({problem, found.front(), profile}).front().seconds;
  if (step == 0) return found;
  const double bound = found.front().bound;
  const PlacementProblem free = without_links(problem);
  for (const Grid& grid :
       grids_to_simulate(problem, profile, constraints, found.front().grid, step)) {
    SearchEffort own = effort;
    own.proves = grid.slots() <= kLimits.sequence_proven_slots;
    for (const PlacementProblem* variant : {&problem, &free}) {
      if (is_over(effort.time)) return found;
      auto placed = find_placement(*variant, {grid.stages, grid.replicas}, own);
      if (!placed) continue;
      found.push_back(on_links(problem, std::move(*placed)));
      found.back().bound = std::min(bound, found.back().value);
    }
  }
  return found;
}

const PlacedSequence& choose_sequence(const PlacementProblem& problem,
                                      const SequenceProfile& profile,
                                      const std::vector<PlacedSequence>& candidates) {
  const PlacedSequence* best = &candidates.front();
  if (candidates.size() == 1) return *best;
  double min = 0;
  for (const PlacedSequence& result : candidates) {
    const SequenceStep step = sequence_steps({problem, result, profile}).front();
    if (!step.fits || step.seconds == 0) continue;
    if (min > 0 && step.seconds >= min * (1 - kSameStep)) continue;
    min = step.seconds;
    best = &result;
  }
  return *best;
}

double min_step(const PlacementProblem& problem, const SequenceProfile& profile,
                const GridConstraints& constraints) {
  const StepBound bound(problem, profile);
  double min = kInfeasible;
  for_grids(problem, constraints, [&](const Grid& grid) { min = std::min(min, bound.of(grid)); });
  return min;
}

namespace {

/// A part of a stage's load, with its name.
struct Part {
  double seconds = 0;
  const char* what = "";
};

/// True if unlimited memory would allow a clearly faster cut for the same devices.
bool memory_shapes(const SequencePlan& plan) {
  auto costs = stage_costs(plan.problem, plan.placed.devices);
  for (StageCost& cost : costs) cost.memory = std::numeric_limits<double>::infinity();
  const double below = kClearly * plan.placed.cut.value;
  return best_cut(plan.problem.sequence, costs, goal_of(plan.problem, plan.placed.grid),
                  {.value = below, .sweeps = 8})
      .has_value();
}

std::string slowest_stage(const SequencePlan& plan) {
  const SequenceLoad& sequence = plan.problem.sequence;
  const auto& begin = plan.placed.cut.begin;
  const auto costs = stage_costs(plan.problem, plan.placed.devices);
  const auto load = [&](int k) { return costs[k].load(sequence, begin[k], begin[k + 1]); };
  int slowest = 0;
  for (int k = 1; k < plan.placed.grid.stages; ++k)
    if (load(k) > load(slowest)) slowest = k;
  const int first = begin[slowest], last = begin[slowest + 1];
  const StageCost& cost = costs[slowest];
  const Pace& slowest_pace = *std::ranges::max_element(cost.paces, {}, [&](const Pace& pace) {
    return pace.per_work * sequence.work(first, last) +
           pace.enter.seconds(sequence.crossing(first)) +
           pace.leave.seconds(sequence.crossing(last));
  });
  const double computing = slowest_pace.per_work * sequence.work(first, last);
  const double adding = cost.reduction.seconds(sequence.parameters(first, last));
  const std::array<Part, 3> parts = {{{computing, "computation"},
                                      {load(slowest) - computing - adding, "messages"},
                                      {adding, "gradient reduction"}}};
  const Part& max = *std::ranges::max_element(parts, {}, &Part::seconds);
  const double share = load(slowest) > 0 ? 100 * max.seconds / load(slowest) : 100;
  return fmt::format("the {} of stage {}{}, {:.0f} % of its {:.4g} ms for a micro-batch", max.what,
                     slowest,
                     last - first == 1 ? fmt::format(" (layer {} alone)", first) : std::string(),
                     share, 1e3 * load(slowest));
}

}  // namespace

std::string bottleneck_of(const SequencePlan& plan) {
  const std::string stage = slowest_stage(plan);
  if (plan.problem.sequence.recomputes())
    return "memory, because nothing fits without activation recomputation, and " + stage;
  return (memory_shapes(plan) ? "memory, which shapes the cut, and " : "") + stage;
}

}  // namespace penstock::partition
