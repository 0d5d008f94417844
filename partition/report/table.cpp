#include "partition/report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/counted.h"

namespace penstock::partition {
namespace {

using Row = std::vector<std::string>;

/// Columns as wide as they need to be; numbers to the right, the first `texts` columns to the left.
std::string aligned_columns(const std::vector<Row>& rows, std::size_t texts) {
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* gap = i == 0 ? "" : "  ";
      line += i < texts ? fmt::format("{}{:<{}}", gap, row[i], widths[i])
                        : fmt::format("{}{:>{}}", gap, row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string grouped(std::int64_t number) {
  std::string digits = fmt::format("{}", number);
  for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) digits.insert(at, 1, ',');
  return digits;
}

std::string mib(std::size_t bytes) { return fmt::format("{:.1f}", bytes / 1048576.0); }
std::string percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string layers_of(const ChunkPlan& chunk) {
  if (chunk.layers.size() == 1) return chunk.layers.front();
  return fmt::format("{} to {} ({})", chunk.layers.front(), chunk.layers.back(),
                     chunk.layers.size());
}

}  // namespace

std::string plan_table(const Plan& plan, const PlanEstimate& estimate) {
  std::vector<Row> work{{"stage", "ranks", "layers", "parameters", "time", "idle"}};
  std::vector<Row> memory{{"stage", "weights", "gradients", "optimizer", "state", "saved",
                           "messages", "scratch", "reduction", "total MiB"}};
  const bool spares = std::ranges::any_of(
      plan.chunks, [](const ChunkPlan& chunk) { return chunk.predicted.bytes.spared > 0; });
  if (spares) memory.front().push_back("spared");
  const bool offloads = std::ranges::any_of(
      plan.chunks, [](const ChunkPlan& chunk) { return chunk.predicted.bytes.host > 0; });
  if (offloads) memory.front().push_back("on the host");
  std::set<int> told;
  for (const ChunkPlan& chunk : plan.chunks) {
    const StageBytes& bytes = chunk.predicted.bytes;
    const std::string stage = fmt::format("{}", chunk.stage);
    work.push_back({stage, fmt::format("{}", fmt::join(plan.ranks[chunk.stage], " ")),
                    layers_of(chunk), grouped(chunk.predicted.parameters),
                    percent(chunk.predicted.time_share), percent(estimate.idle[chunk.stage])});
    if (!told.insert(chunk.stage).second) continue;  // the stage's memory stands there
    memory.push_back({stage, mib(bytes.weights), mib(bytes.gradients), mib(bytes.optimizer),
                      mib(bytes.state), mib(bytes.saved), mib(bytes.messages), mib(bytes.scratch),
                      mib(bytes.reduction), mib(bytes.total())});
    if (spares) memory.back().push_back(mib(bytes.spared));
    if (offloads) memory.back().push_back(mib(bytes.host));
  }
  return fmt::format("{}\n{}\n{}: {} a step in {}, {} × {}; at most {:.2f} times one stage\n",
                     aligned_columns(work, 3), aligned_columns(memory, 1), plan.schedule,
                     counted(plan.micro_batches, "micro-batch", "micro-batches"),
                     counted(plan.lanes, "lane"), counted(plan.stages(), "stage"),
                     counted(plan.replicas(), "replica"), estimate.bound);
}

}  // namespace penstock::partition
