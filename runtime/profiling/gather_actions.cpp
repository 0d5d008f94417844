#include "runtime/profiling/gather_actions.h"

#include <algorithm>
#include <span>
#include <string>

#include "comm/collectives.h"

namespace penstock::runtime {
namespace {

/// The wire format of an action or, if `kind` is negative, of the beginning of a step.
struct Row {
  std::int32_t kind = -1, chunk = 0, micro_batch = 0, unused = 0;
  double start = 0, end = 0, computing = 0;
};

std::string rows_of(const std::vector<ProfiledStep>& steps) {
  std::vector<Row> rows;
  for (const ProfiledStep& step : steps) {
    rows.push_back({.start = step.start, .end = step.end});
    for (const WatchedAction& a : step.actions)
      rows.push_back({static_cast<std::int32_t>(a.action.kind), a.action.chunk,
                      a.action.micro_batch, 0, a.start, a.end, a.computing});
  }
  return {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Row)};
}

std::vector<ProfiledStep> steps_of(const std::string& bytes) {
  std::vector<Row> rows(bytes.size() / sizeof(Row));
  std::copy_n(bytes.data(), rows.size() * sizeof(Row), reinterpret_cast<char*>(rows.data()));
  std::vector<ProfiledStep> steps;
  for (const Row& row : rows) {
    if (row.kind < 0) {
      steps.push_back({row.start, row.end, {}});
      continue;
    }
    steps.back().actions.push_back(
        {{static_cast<partition::ActionKind>(row.kind), row.chunk, row.micro_batch},
         row.start,
         row.end,
         row.computing});
  }
  return steps;
}

}  // namespace

std::vector<std::vector<ProfiledStep>> gather_actions(comm::Communicator& world,
                                                      const std::vector<ProfiledStep>& own) {
  std::vector<std::vector<ProfiledStep>> all;
  for (const std::string& bytes : comm::gather(world, rows_of(own))) all.push_back(steps_of(bytes));
  return all;
}

}  // namespace penstock::runtime
