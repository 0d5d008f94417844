#include "partition/planner/plan/plan_schedule.h"

#include <sstream>

#include "partition/planner/plan/planner.h"
#include "partition/planner/simulate/size_order.h"
#include "partition/schedule/csv/schedule_csv.h"

namespace penstock::partition {

// Action lists of a plan are for the busiest replica's number of micro-batches and name
// micro-batches by place. The plan's order says which size stands at each place, and RunSchedule
// derives from both what a replica with fewer runs.
RunSchedule schedule_of(const Plan& plan) {
  if (!has_lists(plan.schedule))
    return RunSchedule(plan.schedule, plan.stages()).resident(plan.resident);
  const RunSchedule listed(
      lists_of(plan.actions, plan.schedule),
      order_of_replica(plan.order, plan.replicas(), micro_batches_per_replica(plan)));
  return listed.resident(plan.resident);
}

int micro_batches_per_replica(const Plan& plan) {
  return micro_batches_per_replica(plan.micro_batches, plan.lanes, plan.replicas());
}

// Rows of a plan and lines of a schedule's CSV file are the same text, so one reader serves both.
Schedule lists_of(const std::vector<std::string>& actions, std::string_view name) {
  std::string text;
  for (const std::string& row : actions) text += row + "\n";
  Schedule lists = parse_schedule_csv(text, "actions");
  lists.name = name;
  return lists;
}

std::vector<std::string> rows_of(const Schedule& schedule) {
  std::istringstream text(schedule_csv(schedule));
  std::vector<std::string> rows;
  for (std::string row; std::getline(text, row);) rows.push_back(row);
  return rows;
}

}  // namespace penstock::partition
