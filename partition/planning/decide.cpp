#include "partition/planning/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "configs/config.h"
#include "partition/planning/cut_choice.h"
#include "partition/planning/find_choice.h"
#include "partition/planning/proposals.h"
#include "partition/planning/reasons.h"
#include "partition/planning/refuse_plan.h"
#include "partition/planning/stage_memory.h"

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kWide = 1.5;             // of the best closed form: simulation differs by no more
constexpr std::size_t kMostPlaced = 48;   // proposals
constexpr std::size_t kMostWeighed = 12;  // over all sampled steps
constexpr std::size_t kRefined = 12;
constexpr std::size_t kMostFound = 4;  // choices for which lists are sought
constexpr int kExchanged = 12;         // devices of a cluster whose pairs are tried, at most
constexpr double kGib = 1 << 30;

class Decider {
 public:
  explicit Decider(const PlanningProblem& problem) : problem_(problem), workloads_(problem) {}

  Decision decide() {
    auto all = proposals(problem_, workloads_);
    std::size_t placed = 0;
    for (const Proposal& proposal : all) {
      if (placed == kMostPlaced || proposal.bound > kWide * best_closed_) {
        leave_out(proposal);
        continue;
      }
      ++placed;
      const Workload& workload = workloads_.of(proposal.batch, proposal.grid.replicas);
      for (const Placement& devices : placements(problem_, workload, proposal))
        for (const std::string& schedule : problem_.schedules) {
          consider(proposal, devices, schedule);
          if (proposal.grid.stages == 1) break;  // they are all alike
        }
    }
    if (best_closed_ == kNever) refuse_plan(problem_, alternatives_);
    weigh();
    if (problem_.finds) find();
    return finish();
  }

 private:
  void leave_out(const Proposal& proposal) {
    const double audio = workloads_.of(proposal.batch, 1).audio_seconds;
    alternatives_.push_back({.choice = {.stages = proposal.grid.stages,
                                        .replicas = proposal.grid.replicas,
                                        .batch = proposal.batch,
                                        .schedule = "",
                                        .recomputed = problem_.recomputed.value_or(ChosenLayers())},
                             .closed_form = proposal.bound * audio,
                             .audio_seconds = audio,
                             .why = "not tried: so much by the closed form, at least"});
  }

  /// Where memory binds, also with layers that run forward again, unless the problem says which.
  void consider(const Proposal& proposal, const Placement& devices, const std::string& schedule) {
    const PlanChoice choice{.stages = proposal.grid.stages,
                            .replicas = proposal.grid.replicas,
                            .batch = proposal.batch,
                            .schedule = schedule,
                            .recomputed = problem_.recomputed.value_or(ChosenLayers()),
                            .devices = devices};
    if (std::ssize(ranks_of_chunks(choice)) > problem_.chain->size()) {
      alternatives_.push_back({.choice = choice, .why = "more chunks than layers"});
      return;
    }
    const bool binds = consider(choice, Recomputing::as_chosen);
    if (binds && !problem_.recomputed) consider(choice, Recomputing::free);
  }

  /// Whether memory keeps it from a faster cut.
  bool consider(const PlanChoice& wanted, Recomputing recomputing) {
    const Workload& workload = workload_of(wanted);
    ChosenCut cut = cut_choice(problem_, workload, wanted, recomputing);
    // Without second forwards it was considered before, and nothing is to be said of its memory.
    const bool none = std::ranges::count(cut.recomputed, true) == 0;
    if (recomputing == Recomputing::free && (none || !cut.fits)) return true;
    Alternative& alternative = alternatives_.emplace_back(Alternative{wanted});
    PlanChoice& choice = alternative.choice;
    alternative.audio_seconds = workload.audio_seconds;
    alternative.closed_form = cut.closed_form;
    choice.begin = std::move(cut.begin);
    choice.recomputed = std::move(cut.recomputed);
    if (!cut.fits) {
      alternative.why = fmt::format("memory: stage {} lacks {:.3g} GiB", cut.lacking_stage,
                                    cut.lacking_bytes / kGib);
      return true;
    }
    alternative.memory_bound = cut.memory_bound;
    best_closed_ = std::min(best_closed_, alternative.closed_form / workload.audio_seconds);
    alternative.forecast = foretell_step(problem_, workload, choice, 1);
    return cut.memory_bound;
  }

  const Workload& workload_of(const PlanChoice& choice) {
    return workloads_.of(choice.batch, choice.replicas);
  }

  /// The best few over all sampled steps, the very best with their cuts refined.
  void weigh() {
    sort();
    for (std::size_t i = 0; i < std::min(kMostWeighed, alternatives_.size()); ++i) {
      Alternative& alternative = alternatives_[i];
      if (!alternative.forecast) break;
      alternative.forecast =
          foretell_step(problem_, workload_of(alternative.choice), alternative.choice);
      if (i < kRefined) refine(alternative);
    }
    for (std::size_t i = kMostWeighed; i < alternatives_.size(); ++i)
      if (alternatives_[i].forecast)
        alternatives_[i].forecast =
            foretell_step(problem_, workload_of(alternatives_[i].choice), alternatives_[i].choice);
    sort();
  }

  /// Lists and an order of their own for the best choices of one chunk a stage.
  void find() {
    std::vector<Alternative> found;
    for (const Alternative& alternative : alternatives_) {
      if (!alternative.forecast || found.size() == kMostFound) break;
      if (alternative.choice.stages == 1 && !problem_.finds_only) continue;
      const auto same = [&](const Alternative& other) {
        return other.choice.devices == alternative.choice.devices &&
               other.choice.begin == alternative.choice.begin &&
               other.choice.batch.micro_batches == alternative.choice.batch.micro_batches;
      };
      if (std::ranges::any_of(found, same)) continue;
      const auto choice =
          find_choice(problem_, workload_of(alternative.choice), alternative.choice);
      if (!choice) continue;
      found.push_back(alternative);
      found.back().choice = *choice;
      found.back().forecast = foretell_step(problem_, workload_of(*choice), *choice);
    }
    if (found.empty() && problem_.finds_only)
      throw ConfigError(
          "nothing is found: lists of one chunk a stage do not fit into memory. Choose another "
          "schedule");
    alternatives_.insert(alternatives_.begin(), found.begin(), found.end());
    std::ranges::stable_sort(alternatives_, {}, [&](const Alternative& alternative) {
      const bool wished = !problem_.finds_only || !alternative.choice.actions.empty();
      return std::pair(!wished, pace_of(alternative));
    });
  }

  void sort() { std::ranges::stable_sort(alternatives_, {}, pace_of); }

  /// Moves layers over boundaries and, of few devices, exchanges two or takes a free one, as long
  /// as a simulated step gets shorter.
  void refine(Alternative& alternative) {
    while (move_layers(alternative) || exchange_devices(alternative)) {
    }
  }

  bool move_layers(Alternative& alternative) {
    bool better = false;
    const PlanChoice& choice = alternative.choice;
    for (std::size_t b = 1; b + 1 < choice.begin.size(); ++b)
      for (const int move : {-1, 1}) {
        PlanChoice other = choice;
        other.begin[b] += move;
        if (other.begin[b] > other.begin[b - 1] && other.begin[b] < other.begin[b + 1])
          better |= take_if_shorter(alternative, std::move(other));
      }
    return better;
  }

  bool exchange_devices(Alternative& alternative) {
    if (problem_.cluster.size() > kExchanged) return false;
    bool better = false;
    for (int one = 0; one < problem_.cluster.size(); ++one)
      for (int two = one + 1; two < problem_.cluster.size(); ++two) {
        PlanChoice other = alternative.choice;
        bool used = false;
        for (auto& stage : other.devices)
          for (int& device : stage) {
            used |= device == one || device == two;
            device = device == one ? two : device == two ? one : device;
          }
        if (used) better |= take_if_shorter(alternative, std::move(other));
      }
    return better;
  }

  bool take_if_shorter(Alternative& alternative, PlanChoice other) {
    const bool free = !problem_.recomputed && !other.recomputed.empty();
    if (free) other.recomputed.clear();  // at best
    Forecast forecast = foretell_step(problem_, workload_of(other), other);
    if (!is_shorter(forecast, alternative)) return false;
    if (free) {
      if (!recompute_to_fit(problem_, workload_of(other), other)) return false;
      forecast = foretell_step(problem_, workload_of(other), other);
      if (!is_shorter(forecast, alternative)) return false;
    } else if (StageMemory(problem_, other).too_full(other.begin)) {
      return false;
    }
    alternative.choice = std::move(other);
    alternative.forecast = forecast;
    return true;
  }

  static bool is_shorter(const Forecast& forecast, const Alternative& than) {
    return forecast.step_seconds < than.forecast->step_seconds * (1 - 1e-9);
  }

  Decision finish() {
    const Alternative& best = alternatives_.front();
    Decision decision{.choice = best.choice, .forecast = *best.forecast};
    decision.workload = workload_of(best.choice);
    decision.slots = StageMemory(problem_, best.choice).slots(best.choice.begin);
    decision.lower_bound = bound_of_pace() * best.forecast->audio_seconds;
    decision.binds = what_binds(best, alternatives_);
    for (Alternative& alternative : alternatives_) {
      if (&alternative == &best || !alternative.forecast) continue;
      alternative.why = why_slower(best, alternative);
    }
    decision.alternatives = alternatives_;
    return decision;
  }

  /// Work of a step spread over the fastest devices, and its longest micro-batch's way to
  /// the loss and back on the fastest.
  double bound_of_pace() {
    std::vector<double> speeds;
    for (const Device& device : problem_.cluster.devices) speeds.push_back(device.speed);
    std::ranges::sort(speeds, std::greater{});
    std::size_t used = speeds.size();
    if (problem_.stages > 0 && problem_.replicas > 0)
      used = std::min<std::size_t>(used, problem_.stages * problem_.replicas);
    const double sum = std::accumulate(speeds.begin(), speeds.begin() + used, 0.0);
    double least = kNever;
    for (const BatchChoice& batch : problem_.batches) {
      const Workload& workload = workloads_.of(batch, 1);
      const double seconds = std::max(workload.work / sum, workload.longest / speeds.front());
      least = std::min(least, seconds / workload.audio_seconds);
    }
    return least;
  }

  const PlanningProblem& problem_;
  Workloads workloads_;
  std::vector<Alternative> alternatives_;
  double best_closed_ = kNever;  // of those that fit, for a second of audio
};

}  // namespace

Decision decide(const PlanningProblem& problem) { return Decider(problem).decide(); }

}  // namespace penstock
