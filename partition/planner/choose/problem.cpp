#include "partition/planner/choose/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/counted.h"

namespace penstock::partition {

std::string describe(const PlanChoice& choice) {
  std::string text =
      fmt::format("{} × {}", counted(choice.stages, "stage"), counted(choice.replicas, "replica"));
  if (!choice.schedule.empty()) text += ", " + choice.schedule;
  const auto again = std::ranges::count(choice.recomputed, true);
  if (choice.selective || again > 0) text += ", recomputing";
  if (again > 0 && again < std::ssize(choice.recomputed))
    text += fmt::format(" {}{}", choice.selective ? "within layers and " : "",
                        counted(static_cast<std::size_t>(again), "layer"));
  else if (again == 0 && choice.selective)
    text += " within layers";
  if (choice.resident > 0) text += fmt::format(", offloading all but {}", choice.resident);
  if (choice.shards_optimizer) text += ", optimizer sharded over replicas";
  return fmt::format("{}, {} × {:.4g} s", text, choice.batch.micro_batches, choice.batch.seconds);
}

}  // namespace penstock::partition
