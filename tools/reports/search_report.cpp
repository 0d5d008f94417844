#include "tools/reports/search_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/table.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {

// Placements are ranked by prediction, so the first is the fastest as long as none was measured.
std::size_t fastest(const runtime::ClusterPlan& planned, const Measured& measured) {
  if (measured.empty() || planned.ranked.empty()) return 0;
  return std::ranges::min_element(measured) - measured.begin();
}

void print_search_json(const runtime::ClusterPlan& planned, const Measured& measured,
                       bool time_limit_reached) {
  auto candidates = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < planned.ranked.size(); ++i) {
    const runtime::RankedPlan& candidate = planned.ranked[i];
    candidates.push_back({{"devices", candidate.candidate.devices},
                          {"first_layers", candidate.candidate.begin},
                          {"predicted_s", candidate.estimate.step_seconds}});
    if (!measured.empty()) candidates.back()["measured_s"] = measured[i];
  }
  nlohmann::ordered_json json{{"schedule", planned.plan.schedule},
                              {"stages", planned.plan.stages()},
                              {"replicas", planned.plan.replicas()},
                              {"micro_batches", planned.plan.micro_batches},
                              {"lower_bound_s", planned.best_plan.lower_bound},
                              {"time_limit_reached", time_limit_reached},
                              {"candidates", candidates}};
  // "preferred_s" is what the prediction's favourite took. With the fastest and the slowest it
  // shows what measuring gained, and what choosing at random might have lost.
  if (!measured.empty()) {
    json["preferred_s"] = measured.front();
    json["fastest_s"] = std::ranges::min(measured);
    json["slowest_s"] = std::ranges::max(measured);
  }
  std::cout << json_line(json);
}

namespace {

/// Sums up the table in a sentence.
std::string answer_of(const runtime::ClusterPlan& planned, const Measured& measured) {
  const auto& ranked = planned.ranked;
  if (ranked.empty()) return "";
  if (measured.empty()) {
    if (ranked.size() == 1) return "Place 1 is predicted to be fastest.\n";
    const double first = ranked.front().estimate.step_seconds;
    return fmt::format(
        "Place 1 is predicted to be fastest, by {:.1f} % beside the last one shown.\n",
        100 * (ranked.back().estimate.step_seconds / first - 1));
  }
  const std::size_t best = fastest(planned, measured);
  if (best == 0) return "Place 1 was fastest, as predicted.\n";
  return fmt::format("Place {} was fastest; place 1, predicted to be, took {:.1f} % more.\n",
                     best + 1, 100 * (measured.front() / measured[best] - 1));
}

}  // namespace

void print_search(const runtime::ClusterPlan& planned, const Measured& measured) {
  std::vector<std::vector<std::string>> rows{{"place", "predicted"}};
  if (!measured.empty()) rows.front().emplace_back("measured");
  rows.front().emplace_back("stages on");
  for (std::size_t i = 0; i < planned.ranked.size(); ++i) {
    const runtime::RankedPlan& candidate = planned.ranked[i];
    // Stages are separated by bars, and replicas of a stage by plus signs: "a:0+a:1 | b:0+b:1".
    std::vector<std::string> stages;
    for (const auto& devices : candidate.candidate.devices) {
      std::vector<std::string> names;
      for (const int device : devices) names.push_back(planned.problem.cluster.name_of(device));
      stages.push_back(fmt::format("{}", fmt::join(names, "+")));
    }
    rows.push_back({fmt::format("{}", i + 1), seconds_text(candidate.estimate.step_seconds)});
    if (!measured.empty()) rows.back().push_back(seconds_text(measured[i]));
    rows.back().push_back(fmt::format("{}", fmt::join(stages, " | ")));
  }
  std::cout << fmt::format("{} × {}, {}, {} a step\n\n", counted(planned.plan.stages(), "stage"),
                           counted(planned.plan.replicas(), "replica"), planned.plan.schedule,
                           counted(planned.plan.micro_batches, "micro-batch", "micro-batches"))
            << table_text(rows, output_columns());
  std::cout << '\n' << answer_of(planned, measured);
}

}  // namespace penstock::tools
