#include "partition/planning/problem.h"

#include <fmt/format.h>

namespace penstock {

std::string describe(const PlanChoice& choice) {
  std::string schedule = choice.schedule.empty() ? "" : ", " + choice.schedule;
  if (choice.recompute == Recompute::stage) schedule += ", recomputing";
  return fmt::format("{} stage{} × {} replica{}{}, {} × {:.4g} s", choice.stages,
                     choice.stages == 1 ? "" : "s", choice.replicas,
                     choice.replicas == 1 ? "" : "s", schedule, choice.batch.micro_batches,
                     choice.batch.seconds);
}

}  // namespace penstock
