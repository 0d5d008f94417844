#include "partition/planner/report/best_plan_view.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "base/quantities.h"
#include "partition/planner/choose/with_found_schedule.h"
#include "partition/planner/report/plan_view.h"
#include "partition/planner/report/table.h"
#include "partition/schedule/in_flight.h"

namespace penstock::partition {
namespace {

constexpr std::size_t kMaxCandidates = 24;

/// Returns the first stage of `b` that is on other devices than in `a`, such as "stage 1 on b:0
/// b:2".
std::string other_devices(const Cluster& cluster, const Candidate& a, const Candidate& b) {
  std::size_t k = 0;
  while (k + 1 < b.devices.size() && k < a.devices.size() && a.devices[k] == b.devices[k]) ++k;
  std::vector<std::string> names;
  for (const int device : b.devices[k]) names.push_back(cluster.name_of(device));
  if (names.size() > 3) names = {names[0], names[1], fmt::format("+{}", names.size() - 2)};
  return fmt::format("stage {} on {}", k, fmt::join(names, " "));
}

/// Returns the first difference of `b` from `a`, for candidates that describe() does not
/// distinguish.
std::string difference(const Cluster& cluster, const Candidate& a, const Candidate& b) {
  if (a.devices != b.devices && !b.devices.empty()) return other_devices(cluster, a, b);
  if (a.begin != b.begin && a.begin.size() == b.begin.size()) {
    const auto [here, there] = std::ranges::mismatch(a.begin, b.begin);
    return fmt::format("cut at layer {}, not {}", *there, *here);
  }
  if (a.recomputed != b.recomputed)
    return fmt::format("{} recomputed", counted(std::ranges::count(b.recomputed, true), "layer"));
  if (a.resident != b.resident) return fmt::format("{} resident", b.resident);
  return "other order";
}

/// BestPlanView builds the PlanView of a best plan.
class BestPlanView {
 public:
  BestPlanView(const PlanningProblem& problem, const BestPlan& best_plan, const Plan& plan)
      : problem_(problem), best_plan_(best_plan), candidate_(best_plan.candidate()), plan_(plan) {}

  // Stages come first: replicas, facts and the headline read them. The first replica is always
  // drawn, further ones as long as all bars together have room. A micro-batch passes a chunk at
  // most three times: forward, and both gradients.
  PlanView make() {
    view_.title = describe(candidate_);
    view_.cluster = problem_.cluster;
    view_.step_seconds = best_plan_.estimate().step_seconds;
    view_.steps = static_cast<int>(best_plan_.workload.steps.size());
    view_.speed = best_plan_.estimate().speed();
    view_.binds = best_plan_.bottleneck;
    for (int k = 0; k < candidate_.stages; ++k) add_stage(k);
    for (int r = 0; r < candidate_.replicas; ++r) {
      const int passes = 3 * runs_of(r) * static_cast<int>(plan_.chunks.size());
      if (r > 0 && !has_room_for(r + 1, passes)) break;
      add_replica(r);
    }
    view_.schedule = schedule_of(candidate_).of(std::max(1, runs_of(0)));
    add_traffic();
    add_candidates();
    add_facts();
    return std::move(view_);
  }

 private:
  /// Adds a stage with all its chunks, which need not be neighbours. Its limit is that of its
  /// smallest device, since every replica of a stage needs the same memory.
  void add_stage(int k) {
    StageView stage{.layers = {},
                    .devices = candidate_.devices[k],
                    .limit = std::numeric_limits<double>::infinity(),
                    .seconds = best_plan_.estimate().busy[k],
                    .idle = best_plan_.estimate().idle(k)};
    for (const ChunkPlan& chunk : plan_.chunks) {
      if (chunk.stage != k) continue;
      stage.first.push_back(chunk.first);
      stage.last.push_back(chunk.last() - 1);
      stage.layers.push_back(layer_names(chunk.layers.front(), chunk.layers.back(),
                                         static_cast<int>(chunk.layers.size())));
    }
    for (const LayerRun& run : partition::runs_of(candidate_.recomputed))
      for (std::size_t c = 0; c < stage.first.size(); ++c)
        add_recomputed(run, stage.first[c], stage.last[c], stage);
    stage.memory = by_kind(plan_.bytes_of(k));
    for (const int device : stage.devices)
      stage.limit = std::min(stage.limit, problem_.cluster.usable(device));
    view_.stages.push_back(std::move(stage));
  }

  /// Adds the part of a run of recomputed layers that lies in the chunk of layers first to last.
  void add_recomputed(const LayerRun& run, int first, int last, StageView& stage) const {
    const int begin = std::max(run.first, first), end = std::min(run.last, last + 1);
    if (begin >= end) return;
    const auto& layers = problem_.model.sequence->layers;
    stage.recomputed.push_back(
        layer_names(layers[begin]->name(), layers[end - 1]->name(), end - begin));
  }

  /// Adds the simulated first step of a replica. A replica without micro-batches in it has an empty
  /// timeline, and still its constant memory.
  void add_replica(int replica) {
    ReplicaView& view = view_.replicas.emplace_back();
    view.step.ranks.resize(candidate_.stages);
    view.memory.resize(candidate_.stages);
    const int micro_batches = runs_of(replica);
    if (micro_batches > 0) {
      const auto step = predict_replica(problem_, best_plan_.workload, candidate_, {0, replica},
                                        best_plan_.offloaded);
      view.step = step->simulation();
      view.memory = memory_of(view.step, micro_batches);
    }
    for (int k = 0; k < candidate_.stages; ++k)
      add_always(view.memory[k],
                 view_.stages[k].bytes() - static_cast<double>(plan_.bytes_of(k).saved));
  }

  int runs_of(int replica) const {
    return best_plan_.workload.steps.front().replicas[replica].micro_batches();
  }

  /// Returns the memory that micro-batches hold. A stage's saved bytes are divided among its chunks
  /// in proportion to their slots.
  // The saved bytes that the plan predicts are a maximum over all steps. They are spread over
  // slots, so that the drawn curve peaks at that maximum, though the first step may need less.
  std::vector<std::vector<MemoryPoint>> memory_of(const Simulation& step, int micro_batches) const {
    const Schedule schedule = schedule_of(candidate_).of(micro_batches);
    // Maximum bytes of slots per stage, as the best plan counts them.
    std::vector<double> held(candidate_.stages, 0);
    for (int chunk = 0; chunk < schedule.chunks(); ++chunk)
      held[schedule.chunk_rank[chunk]] += best_plan_.slots[chunk];
    return memory_over_time(step, [&](int chunk, int) {
      const int k = schedule.chunk_rank[chunk];
      const double saved = static_cast<double>(plan_.bytes_of(k).saved);
      const double share = held[k] > 0 ? best_plan_.slots[chunk] / held[k] : 0;
      return HeldBytes{.to_weight_gradient =
                           saved * share / count_in_flight(schedule, chunk).slots};
    });
  }

  /// Adds the bytes of one step on each link. A message's bytes are those that leave the last layer
  /// of a chunk, summed over a replica's micro-batches. Replicas sum the gradients of all
  /// parameters.
  void add_traffic() {
    TrafficOf what{.devices = candidate_.devices, .chunk_rank = view_.schedule.chunk_rank};
    for (const StepCosts& costs : best_plan_.workload.steps.front().replicas) {
      auto& of_replica = what.bytes.emplace_back(plan_.chunks.size(), 0);
      for (const auto& of_layers : costs.bytes)
        for (std::size_t chunk = 0; chunk + 1 < plan_.chunks.size(); ++chunk)
          of_replica[chunk] += of_layers[candidate_.begin[chunk + 1] - 1];
      what.messages = std::max<double>(what.messages, costs.micro_batches());
    }
    const auto parameters = parameter_bytes(*problem_.model.sequence);
    for (const ChunkPlan& chunk : plan_.chunks)
      what.gradients.push_back(std::accumulate(parameters.begin() + chunk.first,
                                               parameters.begin() + chunk.last(), 0.0));
    view_.traffic = traffic_of(problem_.cluster, what);
  }

  /// Returns true if the candidate is worth a row. These are the best one of each other grid. In
  /// the plan's own grid they are those with the same schedule or the same number of micro-batches.
  bool is_informative(const Candidate& other) {
    if (grids_.insert({other.stages, other.replicas}).second) return true;
    const bool same_grid =
        other.stages == candidate_.stages && other.replicas == candidate_.replicas;
    return same_grid && (other.batch.micro_batches == candidate_.batch.micro_batches ||
                         other.schedule == candidate_.schedule);
  }

  /// Returns a text for the candidate that no other row has. If an earlier row has the same
  /// description, the first difference from it is added, and a number if that is not unique either.
  std::string distinct(const Candidate& candidate) {
    const auto [first, fresh] = rows_.try_emplace(describe(candidate), &candidate);
    if (fresh) return first->first;
    const std::string row = fmt::format("{}, {}", first->first,
                                        difference(problem_.cluster, *first->second, candidate));
    const int times = ++times_[row];
    return times == 1 ? row : fmt::format("{} ({})", row, times);
  }

  /// Adds the candidates that are worth a row, best first, and counts the others.
  void add_candidates() {
    for (const CandidateResult& other : best_plan_.results) {
      if (view_.candidates.size() == kMaxCandidates || !is_informative(other.candidate)) {
        ++view_.left_out;
        continue;
      }
      CandidateView& view = view_.candidates.emplace_back();
      view.what = distinct(other.candidate);
      view.about = other.estimate ? "" : other.is_bound ? "≥ " : "≈ ";
      view.step_seconds = other.step_seconds(best_plan_.estimate().audio_seconds);
      view.speed = other.estimate ? other.estimate->speed() : 0;
      view.why = other.why;
    }
  }

  /// Returns the recomputed layers, by stage.
  std::string recomputation() const {
    if (std::ranges::count(candidate_.recomputed, true) == 0) return "none";
    std::string text;
    for (int k = 0; k < candidate_.stages; ++k)
      if (const auto& again = view_.stages[k].recomputed; !again.empty())
        text += fmt::format("{}stage {}: {}", text.empty() ? "" : "; ", k, fmt::join(again, ", "));
    return fmt::format(
        "{}, recomputed in backward{}", text,
        candidate_.recompute_exact ? "" : "; not all choices were tried: a cheaper one may exist");
  }

  /// Returns how many micro-batches stay on the device, and how many bytes go to the host.
  std::string offload() const {
    double max = 0;
    for (int k = 0; k < candidate_.stages; ++k)
      max = std::max(max, static_cast<double>(plan_.bytes_of(k).host));
    return fmt::format(
        "{} of each chunk stay on the device, up to {} of a rank go to the host",
        counted(static_cast<std::size_t>(candidate_.resident), "micro-batch", "micro-batches"),
        bytes_text(max));
  }

  /// Returns the step time with the other barrier, and the best of the compared candidates with
  /// it.
  std::string other_barrier() const {
    const bool late = problem_.constraints.barrier == Barrier::none;
    const CandidateResult* best = nullptr;
    const auto pace = [](const CandidateResult& of) {
      return *of.other_barrier_s / of.audio_seconds;
    };
    for (const CandidateResult& other : best_plan_.results)
      if (other.other_barrier_s && (best == nullptr || pace(other) < pace(*best))) best = &other;
    const auto& own = best_plan_.results.front().other_barrier_s;
    if (!own) return late ? "on" : "off";
    const char* otherwise = late ? "without it" : "with it";
    std::string text = fmt::format("{}; {}, a step of this plan takes {}", late ? "on" : "off",
                                   otherwise, seconds_text(*own));
    if (best != &best_plan_.results.front())
      text += fmt::format("; the best plan {} is {}: {} for the same audio", otherwise,
                          describe(best->candidate),
                          seconds_text(pace(*best) * best_plan_.estimate().audio_seconds));
    return text;
  }

  void add_facts() {
    const CandidateEstimate& estimate = best_plan_.estimate();
    view_.facts = {
        {"model", plan_.model},
        {"devices", fmt::format("{} of {}", candidate_.slots(), problem_.cluster.size())},
        {"schedule", candidate_.schedule},
        {"recomputation", recomputation()},
        {"micro-batches a step",
         fmt::format("{} of at most {:.4g} s of audio, in {}", candidate_.batch.micro_batches,
                     candidate_.batch.seconds,
                     counted(static_cast<std::size_t>(plan_.lanes), "lane"))},
        {"step", fmt::format("{} for {} s of audio", seconds_text(estimate.step_seconds),
                             number_text(estimate.audio_seconds))},
        {"speed", fmt::format("{} s of audio a second", number_text(estimate.speed()))},
        {"post-validation", other_barrier()},
        {"lower bound", fmt::format("{}, gap {:.1f} %", seconds_text(best_plan_.lower_bound),
                                    100 * best_plan_.gap())},
        {"what binds", best_plan_.bottleneck},
        {"margin",
         fmt::format("{:.3g} % of each device's memory left free", 100 * problem_.cluster.margin)},
        {"costs", problem_.model.costs_from}};
    if (candidate_.resident > 0) view_.facts.emplace_back("activations", offload());
    if (!problem_.model.not_counted.empty())
      view_.facts.emplace_back("not counted", problem_.model.not_counted);
  }

  const PlanningProblem& problem_;
  const BestPlan& best_plan_;
  const Candidate& candidate_;
  const Plan& plan_;
  std::set<std::pair<int, int>> grids_;           // grids that have a row
  std::map<std::string, const Candidate*> rows_;  // first candidate with each description
  std::map<std::string, int> times_;              // number of rows with the same text
  PlanView view_;
};

}  // namespace

PlanView view_of(const PlanningProblem& problem, const BestPlan& best_plan, const Plan& plan) {
  return BestPlanView(problem, best_plan, plan).make();
}

}  // namespace penstock::partition
