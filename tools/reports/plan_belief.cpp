#include "tools/reports/plan_belief.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/quantities.h"

namespace penstock::tools {
namespace {

/// Formats the range of the step: "610 to 920 ms a step, with all rates of h100 off by the errors
/// that its file states".
std::string range_of(const runtime::ClusterPlan& planned) {
  std::vector<std::string> kinds;
  for (const partition::RatedDevice& device : planned.rated) kinds.push_back(device.name);
  return fmt::format("{} to {} a step, with all rates of {} off by the errors that {} states",
                     seconds_text(planned.believed->fastest_s),
                     seconds_text(planned.believed->slowest_s), fmt::join(kinds, " and "),
                     kinds.size() > 1 ? "each one's file" : "its file");
}

/// Says whether another plan is best if a class of cost is a fifth higher or lower.
std::string sensitivity_of(const runtime::ClusterPlan& planned) {
  const partition::Sensitivity& found = planned.believed->sensitivity;
  if (found.compared < 2) return "no other choice is near enough to compare";
  if (found.others.empty())
    return fmt::format(
        "the plan stays the best of {} choices with products, convolutions, attention, "
        "recurrences, memory, launches or messages a fifth slower or faster",
        found.compared);
  const auto max = std::ranges::max(found.others, {}, &partition::OtherBest::gain);
  return fmt::format(
      "in {} of {} cases, a class of cost a fifth slower or faster, another choice is better: most "
      "where {}, {} by {:.1f} %",
      found.others.size(), found.assumptions.size(), max.assumption,
      partition::describe(max.choice), 100 * max.gain);
}

}  // namespace

void add_uncertainty(const runtime::ClusterPlan& planned, partition::PlanView& view) {
  if (!planned.believed) return;
  view.facts.emplace_back("range", range_of(planned));
  view.facts.emplace_back("sensitivity", sensitivity_of(planned));
}

}  // namespace penstock::tools
