#include "runtime/planning/planned_costs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <string>
#include <vector>

#include "partition/layout/build_model.h"
#include "partition/layout/recomputed_layers.h"
#include "partition/planner/cost/device_profile.h"
#include "partition/planner/cost/fitted_costs.h"

namespace penstock::runtime {
namespace {

/// Describes the origin of computed costs: the kinds of device, or default rates.
std::string computed_from(const std::vector<partition::RatedDevice>& rated,
                          const layers::BackendSizes& sizes) {
  std::map<std::string, std::string> kinds;  // by the source of their rates
  for (const partition::RatedDevice& device : rated) {
    std::string& names = kinds[device.source];
    names += (names.empty() ? "" : " and ") + device.name;
  }
  std::vector<std::string> known;
  for (const auto& [source, names] : kinds) known.push_back(fmt::format("{} ({})", names, source));
  if (!known.empty())
    return fmt::format("computed from rates of {}, not measured", fmt::join(known, ", of "));
  return sizes.device == layers::DeviceKind::cpu
             ? "computed from default rates of a CPU core, not measured; for GPUs name their "
               "device in the cluster file"
             : "computed from rates of an H100, not measured: the cluster file names no device";
}

/// Sets measured costs. Throws ConfigError unless they were measured for this model and precision.
void set_measured(partition::PlanningProblem& problem, const partition::DeviceProfile& measured,
                  const configs::Config& recipe, int labels) {
  partition::check_profile(measured, {.model = partition::model_summary(recipe.model, labels),
                                      .compute = recipe.precision.compute,
                                      .layers = partition::names_of(*problem.model.sequence)});
  problem.model.costs =
      partition::fitted_cost_model(partition::trained_costs(measured, *problem.model.sequence));
  problem.model.costs_from = fmt::format("measured on {}", measured.device);
  problem.model.reading = measured.reading;
  problem.model.step_s = measured.step_s;
  problem.model.parameter_s = measured.parameter_s;
}

}  // namespace

ComputedCosts computed_costs(const ClusterPlan& planned) {
  return {planned.sequence.get(), planned.recomputing.get(), planned.problem.model.sizes};
}

void set_costs(ClusterPlan& planned, const ClusterConstraints& constraints,
               const configs::Config& recipe, int labels) {
  partition::PlanningProblem& problem = planned.problem;
  if (!constraints.costs) {
    computed_costs(planned).set(problem, planned.rated.empty()
                                             ? partition::default_rates(problem.model.sizes)
                                             : planned.rated.front().rates(problem.model.sizes));
    problem.model.costs_from = computed_from(planned.rated, problem.model.sizes);
    return;
  }
  set_measured(problem, *constraints.costs, recipe, labels);
  if (planned.recomputing)
    problem.model.selective_costs =
        partition::with_recompute(problem.model.costs, *planned.recomputing, problem.model.sizes);
}

RatedKinds set_speeds(ClusterPlan& planned, const partition::SampledStep& step) {
  RatedKinds kinds{planned.rated, step.micro_batches};
  partition::Cluster& cluster = planned.problem.cluster;
  const std::vector<double> speeds =
      kinds.speeds(cluster, computed_costs(planned), [&](const partition::RatedDevice& device) {
        return device.rates(planned.problem.model.sizes);
      });
  for (std::size_t device = 0; device < speeds.size(); ++device)
    cluster.devices[device].speed = speeds[device];
  return kinds;
}

}  // namespace penstock::runtime
