#include "partition/planner/report/sequence_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>

#include "base/quantities.h"
#include "partition/planner/choose/candidate_estimate.h"
#include "partition/planner/choose/choose_sequence.h"
#include "partition/planner/placement/bound/bound.h"
#include "partition/planner/report/plan_view.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

constexpr int kSearchedSlots = 64;       // for larger grids only a bound is computed
constexpr std::int64_t kLong = 500'000;  // passes of a long step

std::string words(const Grid& grid) {
  return fmt::format("{} × {}", counted(grid.stages, "stage"), counted(grid.replicas, "replica"));
}

/// Returns "as fast" within the tolerance by which the planner takes steps for equal, or else by
/// how much the seconds are above `than`.
std::string slower(double seconds, double than) {
  if (seconds <= than * (1 + kSameStep)) return "as fast";
  return fmt::format("{:.1f} % slower", 100 * (seconds / than - 1));
}

/// Returns the schedules, such as "zb-h2; 1f1b 3.1 % slower, gpipe lacks memory".
std::string words(const std::vector<SequenceStep>& steps) {
  std::vector<std::string> others;
  for (std::size_t i = 1; i < steps.size(); ++i)
    others.push_back(steps[i].fits ? fmt::format("{} {}", steps[i].schedule,
                                                 slower(steps[i].seconds, steps.front().seconds))
                                   : steps[i].schedule + " lacks memory");
  return fmt::format("{}{}{}", steps.front().schedule, others.empty() ? "" : "; ",
                     fmt::join(others, ", "));
}

/// SequenceView builds the PlanView of a measured layer sequence.
class SequenceView {
 public:
  SequenceView(const SequencePlan& plan, const std::vector<SequenceStep>& steps, LongStep of_long)
      : plan_(plan),
        simulates_(of_long == LongStep::simulated || passes(plan) <= kLong),
        steps_(steps),
        problem_(plan.problem),
        placed_(plan.placed),
        begin_(plan.placed.cut.begin) {}

  PlanView make() {
    const Grid& grid = placed_.grid;
    const auto& layers = plan_.profile.layers;
    view_.title = fmt::format("{}: {} in {}", plan_.profile.name, counted(layers.size(), "layer"),
                              words(grid));
    view_.cluster = problem_.cluster;
    if (simulates_) {
      simulate();
    } else {
      view_.step_seconds = closed_form_step(problem_, placed_);
    }
    view_.binds = bottleneck_of(plan_);
    for (int k = 0; k < grid.stages; ++k) add_stage(k);
    add_traffic();
    add_facts();
    return std::move(view_);
  }

 private:
  /// Returns the number of passes in the first replica's step.
  static std::int64_t passes(const SequencePlan& plan) {
    return std::int64_t{2} * plan.placed.grid.stages * plan.runs_of(0);
  }

  /// Simulates as many replicas as can be drawn, and at least the first. Each replica's step has a
  /// forward and a backward of every stage for each of its micro-batches.
  void simulate() {
    const Grid& grid = placed_.grid;
    for (int r = 0; r < grid.replicas; ++r) {
      if (r > 0 && !has_room_for(r + 1, 2 * plan_.runs_of(r) * grid.stages)) break;
      add_replica(r);
    }
    view_.schedule = make_schedule(steps_.front().schedule, grid.stages, plan_.runs_of(0));
    // The step of the slowest replica.
    view_.step_seconds = std::max(view_.replicas.front().step.makespan, steps_.front().seconds);
  }

  void add_replica(int replica) {
    ReplicaView& view = view_.replicas.emplace_back();
    view.step = predict_sequence_step(plan_, steps_.front().schedule, replica)->simulation();
    view.memory = memory_over_time(view.step, [&](int chunk, int) {
      return HeldBytes{.to_weight_gradient = plan_.bytes(chunk, 1) - plan_.bytes(chunk, 0)};
    });
    for (int k = 0; k < placed_.grid.stages; ++k) add_always(view.memory[k], plan_.bytes(k, 0));
  }

  /// Adds stage k, which is one chunk. A profile gives bytes of parameters alone, so gradients are
  /// counted as just as large, and the optimizer's moments as twice as large. The messages are what
  /// remains of the stage's memory without micro-batches.
  void add_stage(int k) {
    const int first = begin_[k], last = begin_[k + 1];
    StageView stage{.first = {first}, .last = {last - 1}, .devices = placed_.devices[k]};
    const auto& layers = plan_.profile.layers;
    stage.layers = {layer_names(layers[first].name, layers[last - 1].name, last - first)};
    if (problem_.sequence.recomputes()) stage.recomputed = stage.layers;
    const double parameters = problem_.sequence.parameters(first, last);
    const double again = problem_.sequence.recomputed_bytes(first, last);
    stage.memory = {
        {"weights", parameters},
        {"gradients", parameters},
        {"optimizer", 2 * parameters},
        {"activations", plan_.bytes(k, steps_.front().in_flight[k]) - plan_.bytes(k, 0) + again},
        {"messages", plan_.bytes(k, 0) - again - SequenceLoad::kStates * parameters}};
    stage.limit = plan_.limit(k);
    double slowest = std::numeric_limits<double>::infinity();
    for (const int device : stage.devices)
      slowest = std::min(slowest, problem_.cluster.devices[device].speed);
    stage.seconds =
        micro_batches_of(problem_, placed_.grid) * problem_.sequence.work(first, last) / slowest;
    if (view_.step_seconds > 0) stage.idle = std::max(0.0, 1 - stage.seconds / view_.step_seconds);
    view_.stages.push_back(std::move(stage));
  }

  void add_traffic() {
    if (problem_.sequence.passes() == 1) return;  // the sequence has seconds, not bytes
    TrafficOf what{.devices = placed_.devices, .chunk_rank = std::vector<int>(begin_.size() - 1)};
    std::iota(what.chunk_rank.begin(), what.chunk_rank.end(), 0);
    for (int r = 0; r < placed_.grid.replicas; ++r) {
      auto& bytes = what.bytes.emplace_back();
      for (int k = 0; k < placed_.grid.stages; ++k)
        bytes.push_back(plan_.runs_of(r) * problem_.sequence.crossing(begin_[k + 1]));
    }
    what.messages = micro_batches_of(problem_, placed_.grid);
    for (int k = 0; k < placed_.grid.stages; ++k)
      what.gradients.push_back(problem_.sequence.parameters(begin_[k], begin_[k + 1]));
    view_.traffic = traffic_of(problem_.cluster, what);
  }

  void add_facts() {
    const Grid& grid = placed_.grid;
    const auto ms = [](double seconds) { return fmt::format("{:.3f} ms", 1e3 * seconds); };
    view_.facts = {
        {"devices", fmt::format("{} of {}", grid.slots(), problem_.cluster.size())},
        {"micro-batches a step", fmt::format("{}", problem_.micro_batches)},
        {"schedule", words(steps_)},
        {"recomputation", problem_.sequence.recomputes() ? "of whole stages" : "none"},
        {"bottleneck", ms(placed_.cut.slowest)},
        {"step, closed form", ms(closed_form_step(problem_, placed_))},
        {"closed form's bound", ms(placed_.bound)},
        {"closed form's gap",
         fmt::format("{:.2f} %{}", 100 * placed_.gap(), placed_.exact() ? ", exact" : "")},
        {"step, simulated",
         simulates_
             ? ms(view_.step_seconds)
             : fmt::format("not: it has {} passes; the closed form stands for it", passes(plan_))},
        {"lower bound", plan_.min_step == 0
                            ? std::string("unknown")
                            : fmt::format("{}, gap {:.1f} %", ms(plan_.min_step),
                                          100 * (view_.step_seconds / plan_.min_step - 1))},
        {"what binds", view_.binds},
        {"margin",
         fmt::format("{:.3g} % of each device's memory left free", 100 * problem_.cluster.margin)},
        {"costs", "the profile's"}};
  }

  const SequencePlan& plan_;
  bool simulates_;
  const std::vector<SequenceStep>& steps_;
  const PlacementProblem& problem_;
  const PlacedSequence& placed_;
  const std::vector<int>& begin_;
  PlanView view_;
};

/// Compares other grids with a plan, by compared_seconds().
class OtherGrids {
 public:
  OtherGrids(const SequencePlan& plan, const std::vector<SequenceStep>& steps)
      : plan_(plan),
        simulated_(plan.problem.objective == Objective::step && steps.front().seconds > 0),
        seconds_(compared_seconds(plan, steps)) {}

  /// Returns a grid as a short search places it, or with its bound alone. `bound` is that on the
  /// closed form.
  CandidateView weighed(const Grid& grid, double bound) const {
    const GridConstraints constraints{grid.stages, grid.replicas};
    const double min = simulated_ ? min_step(plan_.problem, plan_.profile, constraints) : bound;
    const auto bounded = [&](const char* why) {
      return CandidateView{.what = words(grid), .step_seconds = min, .about = "≥ ", .why = why};
    };
    if (min >= seconds_ * (1 - 1e-9)) return bounded("no cut or placement takes less");
    if (grid.slots() > kSearchedSlots) return bounded("the search found none that takes less");
    const auto found =
        find_placement(plan_.problem, constraints, {.random_starts = 0, .moves = 400});
    if (!found) return bounded("memory: no cut fits");
    CandidateView other{.what = words(grid), .step_seconds = found->value};
    if (simulated_) {
      const SequenceStep step = sequence_steps({plan_.problem, *found, plan_.profile}).front();
      if (!step.fits) return bounded("memory: no schedule fits");
      if (step.seconds == 0) return bounded("its step is too long to simulate");
      other.step_seconds = step.seconds;
    }
    other.why = other.step_seconds < seconds_ * (1 - kSameStep)
                    ? fmt::format("{:.1f} % faster: ask for it with --stages and --replicas",
                                  100 * (1 - other.step_seconds / seconds_))
                    : slower(other.step_seconds, seconds_);
    return other;
  }

 private:
  const SequencePlan& plan_;
  bool simulated_;  // compared_seconds() are simulated
  double seconds_;
};

}  // namespace

// The first micro-batch passes all stages, and each further one follows it by the slowest stage's
// time.
double closed_form_step(const PlacementProblem& problem, const PlacedSequence& placed) {
  return placed.cut.sum + (micro_batches_of(problem, placed.grid) - 1) * placed.cut.slowest;
}

double compared_seconds(const SequencePlan& plan, const std::vector<SequenceStep>& steps) {
  const bool simulated = plan.problem.objective == Objective::step && steps.front().seconds > 0;
  return simulated ? steps.front().seconds : plan.placed.value;
}

// Grids are weighed in the order of a quick bound, so those that may win come first and at most
// `max` of them need a search. The rows are sorted afterwards by what was found.
std::vector<CandidateView> other_grids(const SequencePlan& plan,
                                       const std::vector<SequenceStep>& steps,
                                       const GridConstraints& constraints, std::size_t max) {
  const PlacementProblem& problem = plan.problem;
  const Bounds bounds(problem);
  std::vector<std::pair<double, Grid>> grids;
  const int devices = problem.cluster.size();
  for (int stages = 1; stages <= std::min(problem.sequence.size(), devices); ++stages)
    for (int replicas = 1; replicas <= std::min(devices / stages, problem.micro_batches);
         ++replicas) {
      const Grid grid{stages, replicas};
      if ((constraints.stages > 0 && stages != constraints.stages) ||
          (constraints.replicas > 0 && replicas != constraints.replicas) ||
          grid == plan.placed.grid)
        continue;
      grids.emplace_back(bounds.quick(grid), grid);
    }
  std::ranges::stable_sort(grids, {}, [](const auto& pair) { return pair.first; });
  const OtherGrids compared(plan, steps);
  std::vector<CandidateView> others;
  for (const auto& [bound, grid] : grids) {
    if (others.size() == max) break;
    others.push_back(compared.weighed(grid, bound));
  }
  std::ranges::stable_sort(others, {}, &CandidateView::step_seconds);
  return others;
}

PlanView view_of(const SequencePlan& plan, const std::vector<SequenceStep>& steps,
                 const std::vector<CandidateView>& others, LongStep of_long) {
  PlanView view = SequenceView(plan, steps, of_long).make();
  view.candidates = {
      {.what = words(plan.placed.grid), .step_seconds = compared_seconds(plan, steps)}};
  view.candidates.insert(view.candidates.end(), others.begin(), others.end());
  return view;
}

}  // namespace penstock::partition
