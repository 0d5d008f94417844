#include "tools/commands/plan_diff.h"

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/error.h"
#include "base/table.h"
#include "partition/planner/plan/any_plan.h"
#include "partition/planner/report/plan_diff.h"
#include "tools/cli/exit_code.h"
#include "tools/cli/json_line.h"
#include "tools/cli/terminal.h"

namespace penstock::tools {

int run_plan_diff(const std::vector<std::string>& files, bool json) {
  if (files.size() != 2)
    throw ConfigError(
        fmt::format("--diff compares two plan files, but {} given: penstock plan "
                    "A.toml B.toml --diff",
                    files.size() == 1 ? "1 is" : fmt::format("{} are", files.size())));
  const partition::Plan first = partition::read_any_plan(files[0]);
  const auto rows = partition::differences(first, partition::read_any_plan(files[1]));
  if (json) {
    auto list = nlohmann::ordered_json::array();
    for (const partition::PlanDifference& row : rows)
      list.push_back({{"what", row.what}, {"first", row.first}, {"second", row.second}});
    std::cout << json_line(nlohmann::ordered_json{{"differences", list}});
    return exit_done;
  }
  if (rows.empty()) {
    std::cout << "Both plans train alike.\n";
    return exit_done;
  }
  std::vector<std::vector<std::string>> table{{"", files[0], files[1]}};
  for (const partition::PlanDifference& row : rows)
    table.push_back({row.what, row.first, row.second});
  std::cout << table_text(table, output_columns())
            << fmt::format("\nThe plans differ in {}.\n", counted(rows.size(), "place"));
  return exit_done;
}

}  // namespace penstock::tools
