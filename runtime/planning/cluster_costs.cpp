#include "runtime/planning/cluster_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/error.h"
#include "partition/planner/cost/device_file.h"

namespace penstock::runtime {
namespace {

/// Memory traffic of AdamW, in numbers per parameter. It reads weight, gradient and two moments,
/// and writes all but the gradient.
constexpr double kOptimizerPasses = 7;
constexpr double kMore = 1.2;  // factor of the sensitivity analysis, up and down

const char* name_of(layers::DeviceKind kind) {
  return kind == layers::DeviceKind::cpu ? "cpu" : "cuda";
}

double seconds_of(const partition::CostModel& costs,
                  const std::vector<partition::MicroBatchLengths>& micro_batches) {
  double seconds = 0;
  for (const partition::MicroBatchLengths& lengths : micro_batches)
    for (const partition::LayerCost& cost : costs(lengths)) seconds += cost.total();
  return seconds;
}

}  // namespace

double parameter_seconds(const partition::DeviceRates& rates) {
  return kOptimizerPasses * sizeof(float) / rates.bandwidth;
}

std::vector<partition::RatedDevice> rated_devices(const partition::Cluster& cluster) {
  std::vector<partition::RatedDevice> rated;
  std::vector<std::string> known;
  for (const partition::Device& device : cluster.devices)
    if (!device.device.empty() && std::ranges::count(known, device.device) == 0) {
      known.push_back(device.device);
      rated.push_back(partition::read_device(device.device));
      rated.back().name = device.device;
    }
  return rated;
}

std::string backend_of(const std::vector<partition::RatedDevice>& devices) {
  for (const partition::RatedDevice& device : devices)
    if (device.kind != devices.front().kind)
      throw ConfigError(fmt::format(
          "the cluster has {} on {} and {} on {}, but all ranks of a training run the same "
          "backend. Describe one of both kinds",
          devices.front().name, name_of(devices.front().kind), device.name, name_of(device.kind)));
  return name_of(devices.front().kind);
}

void ComputedCosts::set(partition::PlanningProblem& problem,
                        const partition::DeviceRates& rates) const {
  problem.model.costs = partition::analytic_cost_model(*sequence, sizes, rates);
  if (recomputing != nullptr)
    problem.model.selective_costs = partition::analytic_cost_model(*recomputing, sizes, rates);
  problem.model.parameter_s = parameter_seconds(rates);
}

partition::Assumption ComputedCosts::under(std::string what,
                                           const partition::DeviceRates& rates) const {
  partition::Assumption assumption{.what = std::move(what),
                                   .costs = partition::analytic_cost_model(*sequence, sizes, rates),
                                   .parameter_s = parameter_seconds(rates)};
  if (recomputing != nullptr)
    assumption.selective_costs = partition::analytic_cost_model(*recomputing, sizes, rates);
  return assumption;
}

std::vector<double> RatedKinds::speeds(const partition::Cluster& cluster,
                                       const ComputedCosts& costs,
                                       const AssumedRates& rates) const {
  std::map<std::string, double> seconds;
  for (const partition::RatedDevice& device : rated)
    seconds[device.name] = seconds_of(
        partition::analytic_cost_model(*costs.sequence, costs.sizes, rates(device)), micro_batches);
  std::vector<double> speeds;
  for (const partition::Device& device : cluster.devices)
    speeds.push_back(device.device.empty()
                         ? device.speed
                         : seconds.at(rated.front().name) / seconds.at(device.device));
  return speeds;
}

/// Evaluates the best plan again under other costs. Two runs assume that all errors have one sign.
/// Two more per class of cost, and two for messages, change that class alone by the factor kMore.
BelievedStep believed_step(const partition::PlanningProblem& problem,
                           const partition::BestPlan& best_plan, const ComputedCosts& costs,
                           const RatedKinds& kinds) {
  const auto assumed = [&](std::string what, const AssumedRates& rates) {
    partition::Assumption assumption = costs.under(std::move(what), rates(kinds.rated.front()));
    assumption.speeds = kinds.speeds(problem.cluster, costs, rates);
    return assumption;
  };
  const auto with_errors = [&](double errors) {
    const AssumedRates rates = [&](const partition::RatedDevice& device) {
      return device.rates(costs.sizes, errors);
    };
    return step_under(problem, best_plan, assumed("", rates));
  };
  BelievedStep believed{
      .fastest_s = with_errors(-1), .slowest_s = with_errors(1), .sensitivity = {}};
  std::vector<partition::Assumption> assumptions;
  for (int i = 0; i < partition::kCostClasses; ++i) {
    const auto of = static_cast<partition::CostClass>(i);
    for (const double factor : {kMore, 1 / kMore})
      assumptions.push_back(assumed(
          fmt::format("{} {} time", partition::name_of(of), factor > 1 ? "take more" : "take less"),
          [&](const partition::RatedDevice& device) {
            return slower(device.rates(costs.sizes), of, factor);
          }));
  }
  for (const double factor : {kMore, 1 / kMore})
    assumptions.push_back(
        {.what = factor > 1 ? "messages take more time" : "messages take less time",
         .message_factor = factor});
  believed.sensitivity = sensitivity_of(problem, best_plan, assumptions);
  return believed;
}

}  // namespace penstock::runtime
