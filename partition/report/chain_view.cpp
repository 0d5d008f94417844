#include "partition/report/chain_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "partition/placement/bound.h"
#include "partition/report/drawn.h"
#include "partition/schedules/make_schedule.h"
#include "partition/step_prediction.h"

namespace penstock {
namespace {

constexpr int kSearchedSlots = 64;  // larger grids are only bounded

/// Micro-batches of a step that a replica runs.
int runs_of(const PlacementProblem& problem, const Grid& grid, int replica) {
  return problem.micro_batches / grid.replicas +
         (replica < problem.micro_batches % grid.replicas ? 1 : 0);
}

LayerCost work_of(const ChainProfile& profile, int first, int last) {
  LayerCost cost;
  for (int i = first; i < last; ++i) {
    cost.forward += profile.layers[i].forward_ms / 1e3;
    cost.backward_input += profile.layers[i].backward_ms / 2e3;
    cost.backward_weight += profile.layers[i].backward_ms / 2e3;
  }
  return cost;
}

std::string words(const Grid& grid) {
  return fmt::format("{} stage{} × {} replica{}", grid.stages, grid.stages == 1 ? "" : "s",
                     grid.replicas, grid.replicas == 1 ? "" : "s");
}

class ChainView {
 public:
  ChainView(const PlacementProblem& problem, const PlacedChain& placed, const ChainProfile& profile)
      : problem_(problem), placed_(placed), profile_(profile), begin_(placed.cut.begin) {}

  PlanView make() {
    const Grid& grid = placed_.grid;
    view_.title =
        fmt::format("{}: {} layers in {}", profile_.name, profile_.layers.size(), words(grid));
    view_.cluster = problem_.cluster;
    for (int r = 0; r < grid.replicas; ++r) {
      const int runs = runs_of(problem_, grid, r);
      if (r > 0 && !has_room_for(r + 1, 2 * runs * grid.stages)) break;
      add_replica(r, runs);
    }
    view_.schedule = make_schedule("1f1b", grid.stages, runs_of(problem_, grid, 0));
    view_.step_seconds = view_.replicas.front().step.makespan;
    for (int k = 0; k < grid.stages; ++k) add_stage(k);
    add_traffic();
    add_facts();
    return std::move(view_);
  }

 private:
  double crossing(int layer) const {
    return problem_.chain.crossing(layer) * problem_.chain.passes() / 2;
  }

  void add_replica(int replica, int runs) {
    const int stages = placed_.grid.stages;
    StepCosts costs;
    std::vector<LayerCost> of_stages;
    std::vector<double> bytes;
    StepLayout layout{.begin = {0}, .schedule = make_schedule("1f1b", stages, runs)};
    for (int k = 0; k < stages; ++k) {
      of_stages.push_back(work_of(profile_, begin_[k], begin_[k + 1]));
      bytes.push_back(crossing(begin_[k + 1]));
      layout.begin.push_back(k + 1);
      layout.speeds.push_back(problem_.cluster.devices[placed_.devices[k][replica]].speed);
      layout.reduce_seconds.push_back(reduction(k));
    }
    costs.layers.assign(runs, of_stages);
    costs.bytes.assign(runs, bytes);
    layout.overlap = 0;
    layout.link = [&](int from, int to) {
      return problem_.cluster.link(placed_.devices[from][replica], placed_.devices[to][replica]);
    };
    ReplicaView& view = view_.replicas.emplace_back();
    view.step = StepPrediction(costs, layout).simulation();
    view.memory = memory_over_time(view.step, [&](int chunk, int) {
      return HeldBytes{.to_weight_gradient = bytes_of(chunk, 1) - bytes_of(chunk, 0)};
    });
    for (int k = 0; k < stages; ++k) add_always(view.memory[k], bytes_of(k, 0));
  }

  double bytes_of(int stage, int in_flight) const {
    return problem_.chain.bytes(begin_[stage], begin_[stage + 1], in_flight);
  }

  /// Of a whole step.
  double reduction(int stage) const {
    PlacementProblem step = problem_;
    step.micro_batches = placed_.grid.replicas;
    const auto cost = stage_cost(step, placed_.grid, stage, {}, placed_.devices[stage], {});
    return placed_.grid.replicas == 1 ? 0
                                      : cost.reduction.seconds(problem_.chain.parameters(
                                            begin_[stage], begin_[stage + 1]));
  }

  void add_stage(int k) {
    StageView stage{
        .first = {begin_[k]}, .last = {begin_[k + 1] - 1}, .devices = placed_.devices[k]};
    const auto& layers = profile_.layers;
    stage.layers = {layer_names(layers[begin_[k]].name, layers[begin_[k + 1] - 1].name,
                                begin_[k + 1] - begin_[k])};
    const double parameters = problem_.chain.parameters(begin_[k], begin_[k + 1]);
    const int flying = in_flight(problem_, placed_.grid, k);
    stage.memory = {{"weights", parameters},
                    {"gradients", parameters},
                    {"optimizer", 2 * parameters},
                    {"activations", bytes_of(k, flying) - bytes_of(k, 0)},
                    {"messages", bytes_of(k, 0) - ChainLoad::kStates * parameters}};
    stage.limit = std::numeric_limits<double>::infinity();
    double slowest = std::numeric_limits<double>::infinity();
    for (const int device : stage.devices) {
      stage.limit = std::min(stage.limit, problem_.cluster.usable(device));
      slowest = std::min(slowest, problem_.cluster.devices[device].speed);
    }
    stage.seconds = micro_batches_of(problem_, placed_.grid) *
                    problem_.chain.work(begin_[k], begin_[k + 1]) / slowest;
    if (view_.step_seconds > 0) stage.idle = 1 - stage.seconds / view_.step_seconds;
    view_.stages.push_back(std::move(stage));
  }

  void add_traffic() {
    if (problem_.chain.passes() == 1) return;  // seconds, not bytes
    TrafficOf what{.devices = placed_.devices, .chunk_rank = view_.schedule.chunk_rank};
    for (int r = 0; r < placed_.grid.replicas; ++r) {
      auto& bytes = what.bytes.emplace_back();
      for (int k = 0; k < placed_.grid.stages; ++k)
        bytes.push_back(runs_of(problem_, placed_.grid, r) * crossing(begin_[k + 1]));
    }
    what.messages = micro_batches_of(problem_, placed_.grid);
    for (int k = 0; k < placed_.grid.stages; ++k)
      what.gradients.push_back(problem_.chain.parameters(begin_[k], begin_[k + 1]));
    view_.traffic = traffic_of(problem_.cluster, what);
  }

  void add_facts() {
    const Grid& grid = placed_.grid;
    const auto ms = [](double seconds) { return fmt::format("{:.3f} ms", 1e3 * seconds); };
    view_.facts = {
        {"devices", fmt::format("{} of {}", grid.slots(), problem_.cluster.size())},
        {"micro-batches a step", std::to_string(problem_.micro_batches)},
        {"schedule", "1f1b, no recomputation"},
        {"bottleneck", ms(placed_.cut.slowest)},
        {"step, closed form", ms(closed_form_step(problem_, placed_))},
        {"step, simulated", ms(view_.step_seconds)},
        {"lower bound", ms(placed_.bound)},
        {"gap", fmt::format("{:.2f} %{}", 100 * placed_.gap(), placed_.exact() ? ", exact" : "")},
        {"margin",
         fmt::format("{:.3g} % of each device's memory left free", 100 * problem_.cluster.margin)},
        {"costs", "the profile's"}};
  }

  const PlacementProblem& problem_;
  const PlacedChain& placed_;
  const ChainProfile& profile_;
  const std::vector<int>& begin_;
  PlanView view_;
};

AlternativeView weighed(const PlacementProblem& problem, const PlacedChain& placed,
                        const Grid& grid, double bound) {
  AlternativeView other{.what = words(grid)};
  const double value = placed.value;
  if (bound >= value * (1 - 1e-9) || grid.slots() > kSearchedSlots) {
    other.step_seconds = bound;
    other.is_bound = true;
    other.why = bound >= value * (1 - 1e-9) ? "no cut or placement of it takes less"
                                            : "the search found none that takes less";
    return other;
  }
  const auto found =
      find_placement(problem, {grid.stages, grid.replicas}, {.random_starts = 0, .moves = 400});
  if (!found) {
    other.step_seconds = bound;
    other.is_bound = true;
    other.why = "memory: no cut fits";
    return other;
  }
  other.step_seconds = found->value;
  other.why = fmt::format("{:.1f} % slower", 100 * (found->value / value - 1));
  return other;
}

}  // namespace

double closed_form_step(const PlacementProblem& problem, const PlacedChain& placed) {
  return placed.cut.sum + (micro_batches_of(problem, placed.grid) - 1) * placed.cut.slowest;
}

std::vector<AlternativeView> other_grids(const PlacementProblem& problem, const PlacedChain& placed,
                                         const GridWish& wish, std::size_t most) {
  const Bounds bounds(problem);
  std::vector<std::pair<double, Grid>> grids;
  const int devices = problem.cluster.size();
  for (int stages = 1; stages <= std::min(problem.chain.size(), devices); ++stages)
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      const Grid grid{stages, replicas};
      if ((wish.stages > 0 && stages != wish.stages) ||
          (wish.replicas > 0 && replicas != wish.replicas) || grid == placed.grid)
        continue;
      grids.emplace_back(bounds.quick(grid), grid);
    }
  std::ranges::stable_sort(grids, {}, [](const auto& pair) { return pair.first; });
  std::vector<AlternativeView> others;
  for (const auto& [bound, grid] : grids) {
    if (others.size() == most) break;
    others.push_back(weighed(problem, placed, grid, bound));
  }
  std::ranges::stable_sort(others, {}, &AlternativeView::step_seconds);
  return others;
}

PlanView view_of(const PlacementProblem& problem, const PlacedChain& placed,
                 const ChainProfile& profile, const std::vector<AlternativeView>& others) {
  PlanView view = ChainView(problem, placed, profile).make();
  view.alternatives = {{.what = words(placed.grid), .step_seconds = placed.value}};
  view.alternatives.insert(view.alternatives.end(), others.begin(), others.end());
  return view;
}

}  // namespace penstock
