#include "partition/planner/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/quantities.h"
#include "base/table.h"
#include "base/wrap.h"

namespace penstock::partition {
namespace {

/// Returns a number with commas between thousands.
std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string layers_of(const ChunkPlan& chunk) {
  if (chunk.layers.size() == 1) return chunk.layers.front();
  return fmt::format("{} to {} ({})", chunk.layers.front(), chunk.layers.back(),
                     chunk.layers.size());
}

/// Returns a table with a row for each chunk.
std::string chunk_table(const Plan& plan, const PlanEstimate& estimate, std::size_t columns) {
  TableRows rows{{"stage", "ranks", "parameters", "time", "idle", "layers"}};
  for (const ChunkPlan& chunk : plan.chunks)
    rows.push_back({fmt::format("{}", chunk.stage),
                    fmt::format("{}", fmt::join(plan.ranks[chunk.stage], " ")),
                    grouped(chunk.predicted.parameters), percent(chunk.predicted.time_share),
                    percent(estimate.idle[chunk.stage]), layers_of(chunk)});
  return table_text(rows, columns);
}

/// Formats the memory of all stages. Bytes that sharding spares and bytes on the host stand below
/// the total, because they take nothing from the device.
std::string stage_memory(const Plan& plan, std::size_t columns) {
  std::vector<MemoryByKind> stages;
  MemoryRow sharded_away{.name = "spared"}, host{.name = "on the host"};
  for (int k = 0; k < plan.stages(); ++k) {
    const StageBytes& bytes = plan.bytes_of(k);
    stages.push_back(by_kind(bytes));
    sharded_away.of_stages.push_back(static_cast<double>(bytes.sharded_away));
    host.of_stages.push_back(static_cast<double>(bytes.host));
  }
  std::vector<MemoryRow> below;
  for (const MemoryRow& row : {sharded_away, host})
    if (std::ranges::max(row.of_stages) > 0) below.push_back(row);
  return memory_table(stages, below, columns);
}

}  // namespace

std::string plan_table(const Plan& plan, const PlanEstimate& estimate, std::size_t columns) {
  const std::string words = fmt::format(
      "{}: {} a step in {}, {} × {}; at most {:.2f} times one stage", plan.schedule,
      counted(plan.micro_batches, "micro-batch", "micro-batches"), counted(plan.lanes, "lane"),
      counted(plan.stages(), "stage"), counted(plan.replicas(), "replica"), estimate.bound);
  return fmt::format("{}\n{}\n{}\n", chunk_table(plan, estimate, columns),
                     stage_memory(plan, columns), wrapped(words, columns));
}

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
