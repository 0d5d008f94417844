#include "partition/planner/choose/explain/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/gib.h"
#include "partition/schedule/make_schedule.h"

namespace penstock::partition {
namespace {

/// True if a choice that lacks memory would be faster by more than `share`.
bool is_faster_by(double share, const Candidate& lacking, const Candidate& best) {
  return lacking.lacks && lacking.speed_with_memory * seconds_per_audio_second(best) > 1 + share;
}

/// Returns the same choice without a sharded optimizer, if that would be faster but lacks memory;
/// else null.
const Candidate* unsharded_lacking(const Candidate& best,
                                   const std::vector<Candidate>& candidates) {
  if (!best.choice.shards_optimizer) return nullptr;
  for (const Candidate& other : candidates)
    if (is_faster_by(kSameStep, other, best) && !other.choice.shards_optimizer &&
        other.choice.stages == best.choice.stages &&
        other.choice.replicas == best.choice.replicas &&
        other.choice.batch.micro_batches == best.choice.batch.micro_batches &&
        (other.choice.schedule == best.choice.schedule || best.choice.schedule == kFound))
      return &other;
  return nullptr;
}

/// Returns text on the influence of memory on the plan; empty if there is none.
std::string memory_of(const Candidate& best, const std::vector<Candidate>& candidates) {
  std::string text;
  if (const Candidate* whole = unsharded_lacking(best, candidates))
    text = fmt::format("memory, for which replicas share the optimizer (else {}), and ",
                       describe(*whole->lacks));
  if (best.memory_bound) text += "memory, which shapes the cut, and ";
  return text;
}

}  // namespace

double seconds_per_audio_second(const Candidate& candidate) {
  return candidate.estimate ? 1 / candidate.estimate->speed()
                            : std::numeric_limits<double>::infinity();
}

std::string describe(const LackingMemory& lacking) {
  return fmt::format("stage {} lacks {:.3g} GiB", lacking.stage, lacking.bytes / kGib);
}

std::string why_slower(const Candidate& best, const Candidate& other) {
  const double slower = seconds_per_audio_second(other) / seconds_per_audio_second(best) - 1;
  if (slower <= -kSameStep)
    return fmt::format("{:.1f} % faster, but {} is requested", -100 * slower, best.choice.schedule);
  if (slower < kSameStep) return "as fast: the first found is kept";
  double idle = 0;
  for (int k = 0; k < other.choice.stages; ++k)
    idle += other.estimate->idle(k) / other.choice.stages;
  return fmt::format("{:.1f} % slower: stages idle {:.0f} %{}", 100 * slower, 100 * idle,
                     other.memory_bound ? ", memory shapes its cut" : "");
}

bool would_be_faster(const Candidate& lacking, const Candidate& best) {
  return is_faster_by(kClearlyFaster, lacking, best);
}

std::string bottleneck_of(const Candidate& best, const std::vector<Candidate>& candidates) {
  const Candidate* wanted = nullptr;
  for (const Candidate& other : candidates)
    if (would_be_faster(other, best) &&
        (wanted == nullptr || other.speed_with_memory > wanted->speed_with_memory))
      wanted = &other;
  if (wanted != nullptr)
    return fmt::format("memory: {} would be faster, but its {}", describe(wanted->choice),
                       describe(*wanted->lacks));
  const auto& busy = best.estimate->busy;
  const auto slowest = static_cast<int>(std::ranges::max_element(busy) - busy.begin());
  return fmt::format("{}the computation of stage {}, which is busy {:.0f} % of a step",
                     memory_of(best, candidates), slowest,
                     100 * (1 - best.estimate->idle(slowest)));
}

}  // namespace penstock::partition
