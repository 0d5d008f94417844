#include "tools/reports/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ostream>
#include <string_view>

#include "base/quantities.h"
#include "base/table.h"
#include "base/wrap.h"
#include "partition/planner/report/render.h"
#include "partition/planner/report/table.h"
#include "tools/cli/escaped_stream.h"

namespace penstock::tools {
namespace {

constexpr std::size_t kShownCandidates = 12;
constexpr std::size_t kFactName = 22;  // columns

/// Returns names of devices; three or more of a node in a row become "office:0–3".
std::vector<std::string> runs_of(const partition::Cluster& cluster,
                                 const std::vector<int>& devices) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < devices.size();) {
    std::size_t end = i + 1;
    while (end < devices.size() && devices[end] == devices[end - 1] + 1 &&
           cluster.devices[devices[end]].node == cluster.devices[devices[i]].node)
      ++end;
    // Two devices are as short by their names.
    if (end - i < 3) end = i + 1;
    std::string run = cluster.name_of(devices[i]);
    const std::string last = cluster.name_of(devices[end - 1]);
    if (end - i > 1) run += fmt::format("–{}", last.substr(last.rfind(':') + 1));
    runs.push_back(run);
    i = end;
  }
  return runs;
}

/// Returns the names of a stage's first devices.
std::string names_of(const partition::Cluster& cluster, const std::vector<int>& devices) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> runs = runs_of(cluster, devices);
  if (runs.size() > shown) {
    runs.resize(shown);
    runs.push_back(fmt::format("… {} in all", devices.size()));
  }
  return fmt::format("{}", fmt::join(runs, " "));
}

/// Returns a chunk's first and last layer as "3–7".
std::string places_of(const partition::StageView& stage, std::size_t chunk) {
  const int first = stage.first[chunk], last = stage.last[chunk];
  return first == last ? fmt::format("{}", first) : fmt::format("{}–{}", first, last);
}

/// Returns a chunk's layers by name, without their number, which follows from the range beside it.
std::string layers_of(const partition::StageView& stage, std::size_t chunk) {
  std::string names = stage.layers[chunk];
  const std::string number = fmt::format(" ({})", stage.last[chunk] - stage.first[chunk] + 1);
  if (names.ends_with(number)) names.resize(names.size() - number.size());
  return names;
}

/// Formats a row for each chunk. Figures of a stage stand in the row of its first chunk.
std::string work_table(const partition::PlanView& view, std::size_t columns) {
  TableRows rows{{"stage", "devices", "computes", "idle", "layers", ""}};
  for (std::size_t k = 0; k < view.stages.size(); ++k) {
    const partition::StageView& stage = view.stages[k];
    for (std::size_t c = 0; c < stage.first.size(); ++c) {
      auto& row = rows.emplace_back(4);
      if (c == 0)
        row = {fmt::format("{}", k), names_of(view.cluster, stage.devices),
               seconds_text(stage.seconds), fmt::format("{:.0f} %", 100 * stage.idle)};
      row.push_back(places_of(stage, c));
      row.push_back(layers_of(stage, c));
    }
  }
  return table_text(rows, columns);
}

/// Formats the memory of each stage by kind, with the limit of its smallest device below.
std::string memory_by_stage(const partition::PlanView& view, std::size_t columns) {
  std::vector<partition::MemoryByKind> stages;
  partition::MemoryRow limit{.name = "limit"};
  for (const partition::StageView& stage : view.stages) {
    stages.push_back(stage.memory);
    limit.of_stages.push_back(stage.limit);
  }
  return partition::memory_table(stages, {limit}, columns);
}

/// Shortens "2 stages × 1 replica, 1f1b, 8 × 16 s" to "2 × 1, 1f1b, 8 × 16 s", since the heading
/// has the words.
std::string brief(std::string what) {
  for (const std::string_view word : {" replicas", " replica", " stages", " stage"})
    if (const std::size_t at = what.substr(0, what.find(',')).find(word); at != std::string::npos)
      what.erase(at, word.size());
  return what;
}

/// Formats the compared candidates, the plan first. Candidates of measured layers are grids alone,
/// and the heading then names no schedule and batch.
std::string candidates_table(const partition::PlanView& view, std::size_t columns) {
  const bool grids = view.candidates.front().what.find(',') == std::string::npos;
  TableRows rows{{grids ? "stages × replicas" : "stages × replicas, schedule, batch", "step", ""}};
  for (const partition::CandidateView& other : view.candidates) {
    if (rows.size() > kShownCandidates) break;
    rows.push_back({brief(other.what),
                    other.step_seconds > 0 ? other.about + seconds_text(other.step_seconds) : "",
                    other.why.empty() ? "the plan" : other.why});
  }
  // The heading is one of the rows, so rows.size() - 1 candidates are shown.
  const int more = view.left_out + static_cast<int>(view.candidates.size() + 1 - rows.size());
  return table_text(rows, columns) +
         (more > 0 ? fmt::format("and {} more, none better\n", more) : "");
}

/// Formats facts in two columns. The value is wrapped within its own.
std::string facts_table(const partition::PlanView& view, std::size_t columns) {
  std::string text;
  for (const auto& [name, value] : view.facts)
    text += fmt::format("{:<{}}{}\n", name, kFactName, wrapped(value, columns, kFactName));
  return text;
}

/// Draws the pipeline. Empty if the step was not simulated.
std::string picture(const partition::PlanView& view, const PlanLook& look) {
  if (view.replicas.empty()) return "";
  const partition::Simulation& step = view.replicas.front().step;
  const int width = partition::picture_width(step, look.columns);
  const std::string sampled =
      view.steps > 1 ? fmt::format(" in the first of {} sampled steps", view.steps) : "";
  const std::string legend = fmt::format(
      "ranks are stages of the first replica{}; F forward, B input gradient, W weight gradient, G "
      "both{}",
      sampled, partition::is_summary(step, width) ? partition::kSummaryLegend : "");
  return wrapped(legend, look.columns) + "\n" +
         partition::render(view.schedule, step,
                           {.width = width, .time = seconds_text, .colour = look.colour}) +
         '\n';
}

/// Formats each advice as a paragraph of its own.
std::string advice_lines(const partition::PlanView& view, std::size_t columns) {
  std::string text;
  for (const std::string& sentence : view.advice) text += wrapped(sentence, columns) + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

// The order follows the reader's questions: how fast, who does it, does it fit, when does it run,
// what else was tried, why not faster, what to change. Only the drawing has control sequences, and
// bypasses the filter.
void print_plan(const partition::PlanView& view, std::ostream& out, const PlanLook& look) {
  const std::size_t columns = look.columns;
  out << wrapped(view.title, columns) << '\n'
      << wrapped(partition::headline_of(view), columns) << "\n\n"
      << work_table(view, columns) << '\n'
      << memory_by_stage(view, columns) << '\n'
      << Unescaped{picture(view, look)};
  if (!view.candidates.empty()) out << candidates_table(view, columns) << '\n';
  out << facts_table(view, columns) << advice_lines(view, columns);
  if (!view.command.empty()) out << "\nTrain it with\n  " << view.command << '\n';
}

}  // namespace penstock::tools
