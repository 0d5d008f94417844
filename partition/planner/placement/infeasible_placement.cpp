#include "partition/planner/placement/infeasible_placement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/config.h"

namespace penstock::partition {
namespace {

/// Returns other numbers of stages that might fit, nearest to `requested` first.
std::vector<int> other_stages(const PlacementProblem& problem, int requested) {
  std::vector<int> result;
  for (int stages = 1; stages <= std::min(problem.sequence.size(), problem.cluster.size());
       ++stages)
    if (stages != requested) result.push_back(stages);
  std::ranges::stable_sort(result, {}, [&](int stages) { return std::abs(stages - requested); });
  return result;
}

/// Returns the factor on all devices' memory with which the problem fits, to a thousandth. If time
/// is short, the factor is larger than needed; nothing if none was found in time.
std::optional<double> memory_needed(const PlacementProblem& problem,
                                    const GridConstraints& constraints, const TimeLimit* time) {
  const auto suffices = [&](double times) {
    PlacementProblem larger = problem;
    for (Device& device : larger.cluster.devices) device.memory *= times;
    return find_any_placement(larger, constraints, time).has_value();
  };
  double low = 1, high = 2;
  while (!suffices(high)) {
    if (is_over(time)) return std::nullopt;
    low = high;
    high *= 2;
  }
  // Invariant: `high` times the memory suffices; no placement was found with `low` times as much.
  while (high / low > 1.001 && !is_over(time)) {
    const double middle = (low + high) / 2;
    if (suffices(middle))
      high = middle;
    else
      low = middle;
  }
  return high;
}

}  // namespace

void check_constraints(const PlacementProblem& problem, const GridConstraints& constraints) {
  const int layers = problem.sequence.size(), devices = problem.cluster.size();
  if (constraints.stages > layers)
    throw ConfigError(fmt::format(
        "{}, but the model has {} and a stage needs one: ask for at most {}",
        counted(constraints.stages, "stage"), counted(layers, "layer"), std::min(layers, devices)));
  if (constraints.stages > devices)
    throw ConfigError(
        fmt::format("{}, but the cluster has {} and a stage needs one: ask for at most {}",
                    counted(constraints.stages, "stage"), counted(devices, "device"),
                    std::min(layers, devices)));
  const int stages = std::max(1, constraints.stages);
  if (static_cast<long>(stages) * constraints.replicas > devices)
    throw ConfigError(
        fmt::format("{} of {} need {} devices, but the cluster has {}: ask for at most {}",
                    counted(constraints.replicas, "replica"), counted(stages, "stage"),
                    static_cast<long>(stages) * constraints.replicas, devices, devices / stages));
  if (constraints.replicas > problem.micro_batches)
    throw ConfigError(fmt::format(
        "{}, but a step has {} and a replica needs one: ask for at most {}",
        counted(constraints.replicas, "replica"),
        counted(problem.micro_batches, "micro-batch", "micro-batches"), problem.micro_batches));
}

void throw_infeasible_placement(const PlacementProblem& problem, const GridConstraints& constraints,
                                const TimeLimit* time) {
  if (is_over(time))
    throw ConfigError(fmt::format(
        "no plan that fits was found within {:g} s, which does not prove that there is none: allow "
        "the search more time with --time-limit, or give the devices more memory",
        time->seconds()));
  std::string what = "memory binds: ";
  what += constraints.stages > 0
              ? fmt::format("no cut into {} fits", counted(constraints.stages, "stage"))
              : std::string("no cut into any number of stages fits");
  if (constraints.replicas > 0)
    what += fmt::format(" with {}", counted(constraints.replicas, "replica"));
  if (problem.sequence.recomputes()) what += ", with whole stages recomputed or not";
  // Another grid may fit if the caller fixed this one; otherwise all were tried before.
  if (constraints.stages > 0 || constraints.replicas > 0) {
    for (const int stages : other_stages(problem, std::max(1, constraints.stages))) {
      const auto other = find_any_placement(problem, {.stages = stages}, time);
      if (!other) continue;
      throw ConfigError(fmt::format(
          "{}. The nearest that fits has {} and {}: ask for that, or give the "
          "devices more memory",
          what, counted(other->grid.stages, "stage"), counted(other->grid.replicas, "replica")));
    }
  }
  const auto times = memory_needed(problem, constraints, time);
  if (!times && is_over(time)) throw ConfigError(what + ", as far as --time-limit allowed to see");
  if (!times) throw ConfigError(what + ", even with every device");
  double largest = 0;
  for (const Device& device : problem.cluster.devices) largest = std::max(largest, device.memory);
  throw ConfigError(
      fmt::format("{}, even with every device. {:.4g} times the memory would be enough "
                  "({:.4g} GiB on the largest device, {:.3g} % of it left free)",
                  what, *times, *times * largest / kGib, 100 * problem.cluster.margin));
}

}  // namespace penstock::partition
