#include "partition/choose/problem.h"

#include <fmt/format.h>

#include <algorithm>

namespace penstock::partition {

std::string describe(const PlanChoice& choice) {
  std::string schedule = choice.schedule.empty() ? "" : ", " + choice.schedule;
  const auto again = std::ranges::count(choice.recomputed, true);
  if (again == std::ssize(choice.recomputed) && again > 0)
    schedule += ", recomputing";
  else if (again > 0)
    schedule += fmt::format(", recomputing {} layer{}", again, again == 1 ? "" : "s");
  return fmt::format("{} stage{} × {} replica{}{}, {} × {:.4g} s", choice.stages,
                     choice.stages == 1 ? "" : "s", choice.replicas,
                     choice.replicas == 1 ? "" : "s", schedule, choice.batch.micro_batches,
                     choice.batch.seconds);
}

}  // namespace penstock::partition
