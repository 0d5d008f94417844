#include "partition/planner/report/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantities.h"
#include "base/table.h"

namespace penstock::partition {
namespace {

double total_of(const MemoryByKind& stage) {
  double sum = 0;
  for (const auto& [kind, bytes] : stage) sum += bytes;
  return sum;
}

/// The unit of a table of memory.
struct MemoryUnit {
  const char* name = "GiB";
  double bytes = kGib;
  int decimals = 2;

  std::string text(double value) const {
    return std::isinf(value) ? "–" : fmt::format("{:.{}f}", value / bytes, decimals);
  }
  std::vector<std::string> row(const MemoryRow& of) const {
    std::vector<std::string> cells{of.name};
    for (const double value : of.of_stages) cells.push_back(text(value));
    return cells;
  }
};

// All stages have one unit, so that their numbers can be compared along a row.
MemoryUnit unit_for(const std::vector<MemoryByKind>& stages) {
  if (std::ranges::any_of(stages, [](const auto& stage) { return total_of(stage) >= kGib; }))
    return {};
  return {"MiB", kGib / 1024, 1};
}

}  // namespace

// Host memory and what sharding spares are no kinds: neither takes memory of the device.
MemoryByKind by_kind(const StageBytes& bytes) {
  const std::vector<std::pair<std::string, std::size_t StageBytes::*>> kinds = {
      {"weights", &StageBytes::weights},     {"gradients", &StageBytes::gradients},
      {"optimizer", &StageBytes::optimizer}, {"state", &StageBytes::state},
      {"activations", &StageBytes::saved},   {"messages", &StageBytes::messages},
      {"scratch", &StageBytes::scratch},     {"reduction", &StageBytes::reduction}};
  MemoryByKind memory;
  for (const auto& [name, kind] : kinds)
    memory.emplace_back(name, static_cast<double>(bytes.*kind));
  return memory;
}

std::string memory_table(const std::vector<MemoryByKind>& stages,
                         const std::vector<MemoryRow>& below, std::size_t columns) {
  const MemoryUnit unit = unit_for(stages);
  TableRows rows{{fmt::format("{} of stage", unit.name)}};
  for (std::size_t k = 0; k < stages.size(); ++k) rows.front().push_back(fmt::format("{}", k));
  MemoryRow total{.name = "total"};
  for (const MemoryByKind& stage : stages) total.of_stages.push_back(total_of(stage));
  for (std::size_t kind = 0; kind < stages.front().size(); ++kind) {
    MemoryRow row{.name = stages.front()[kind].first};
    for (const MemoryByKind& stage : stages) row.of_stages.push_back(stage[kind].second);
    if (std::ranges::max(row.of_stages) > 0) rows.push_back(unit.row(row));
  }
  rows.push_back(unit.row(total));
  for (const MemoryRow& row : below) rows.push_back(unit.row(row));
  return table_text(rows, columns);
}

}  // namespace penstock::partition
