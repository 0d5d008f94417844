#include "tools/plan_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>

#include "base/gib.h"
#include "base/quantities.h"
#include "partition/report/render.h"
#include "tools/escaped_stream.h"
#include "tools/table.h"

namespace penstock::tools {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr std::size_t kShownAlternatives = 12;
constexpr int kWidth = 96;  // columns of the picture

/// What a table of memory counts in: MiB where not even the fullest stage takes a GiB.
struct MemoryUnit {
  const char* name = "GiB";
  double bytes = kGib;

  explicit MemoryUnit(const std::vector<partition::StageView>& stages) {
    if (std::ranges::max(stages, {}, &partition::StageView::bytes).bytes() >= kGib) return;
    name = "MiB";
    bytes = kGib / 1024;
  }
  std::string text(double value) const { return fmt::format("{:.2f}", value / bytes); }
};

std::string seconds(double value) {
  return value >= 1 ? fmt::format("{:.3f} s", value) : fmt::format("{:.3f} ms", 1e3 * value);
}

/// The first devices of a stage by name, and how many more there are.
std::string names_of(const partition::Cluster& cluster, const std::vector<int>& devices) {
  constexpr std::size_t shown = 4;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(shown, devices.size()); ++i)
    names.push_back(cluster.name_of(devices[i]));
  const std::string text = fmt::format("{}", fmt::join(names, " "));
  return devices.size() <= shown ? text : fmt::format("{} +{}", text, devices.size() - shown);
}

std::string places_of(const partition::StageView& stage) {
  std::vector<std::string> places;
  for (std::size_t c = 0; c < stage.first.size(); ++c)
    places.push_back(fmt::format("{}–{}", stage.first[c], stage.last[c]));
  return fmt::format("{}", fmt::join(places, " "));
}

std::string work_table(const partition::PlanView& view) {
  const bool again = std::ranges::any_of(
      view.stages, [](const partition::StageView& stage) { return !stage.recomputed.empty(); });
  Rows rows{{"stage", "layers", "", "devices", "time a step", "idle"}};
  if (again) rows.front().push_back("recomputed");
  for (std::size_t k = 0; k < view.stages.size(); ++k) {
    const partition::StageView& stage = view.stages[k];
    rows.push_back({fmt::format("{}", k), places_of(stage),
                    fmt::format("{}", fmt::join(stage.layers, ", ")),
                    names_of(view.cluster, stage.devices), seconds(stage.seconds),
                    fmt::format("{:.1f} %", 100 * stage.idle)});
    if (again) rows.back().push_back(fmt::format("{}", fmt::join(stage.recomputed, ", ")));
  }
  return table_text(rows);
}

std::string memory_table(const partition::PlanView& view) {
  const MemoryUnit unit(view.stages);
  Rows rows{{unit.name}};
  for (const auto& [kind, bytes] : view.stages.front().memory) rows.front().push_back(kind);
  rows.front().insert(rows.front().end(), {"total", "of"});
  for (std::size_t k = 0; k < view.stages.size(); ++k) {
    const partition::StageView& stage = view.stages[k];
    auto& row = rows.emplace_back(std::vector{fmt::format("{}", k)});
    for (const auto& [kind, bytes] : stage.memory) row.push_back(unit.text(bytes));
    row.push_back(unit.text(stage.bytes()));
    row.push_back(std::isinf(stage.limit) ? "no limit" : unit.text(stage.limit));
  }
  return table_text(rows);
}

std::string alternatives_table(const partition::PlanView& view) {
  Rows rows{{"considered", "step", ""}};
  for (const partition::AlternativeView& other : view.alternatives) {
    if (rows.size() > kShownAlternatives) break;
    rows.push_back({other.what,
                    other.step_seconds > 0 ? other.about + seconds(other.step_seconds) : "",
                    other.why.empty() ? "the plan" : other.why});
  }
  const int more = view.left_out + static_cast<int>(view.alternatives.size() + 1 - rows.size());
  return table_text(rows) + (more > 0 ? fmt::format("and {} more, none better\n", more) : "");
}

std::string facts_table(const partition::PlanView& view) {
  std::string text;
  for (const auto& [name, value] : view.facts) text += fmt::format("{:<22}{}\n", name, value);
  return text;
}

/// Empty where the step was not simulated.
std::string picture(const partition::PlanView& view, bool colour) {
  if (view.replicas.empty()) return "";
  const partition::Simulation& step = view.replicas.front().step;
  const std::string sampled =
      view.steps > 1 ? fmt::format(" in the first of {} sampled steps", view.steps) : "";
  return fmt::format(
             "ranks are stages of the first replica{}; F forward, B input gradient, W weight "
             "gradient, G both{}\n",
             sampled, partition::is_summary(step, kWidth) ? partition::kSummaryLegend : "") +
         partition::render(view.schedule, step,
                           {.width = kWidth, .time = seconds_text, .colour = colour}) +
         '\n';
}

std::string advice_lines(const partition::PlanView& view) {
  std::string text;
  for (const std::string& sentence : view.advice) text += sentence + "\n";
  return text.empty() ? "" : "\n" + text;
}

}  // namespace

void print_plan(const partition::PlanView& view, std::ostream& out, bool colour) {
  out << view.title << '\n'
      << partition::headline_of(view) << "\n\n"
      << work_table(view) << '\n'
      << memory_table(view) << '\n'
      << Unescaped{picture(view, colour)};
  if (!view.alternatives.empty()) out << alternatives_table(view) << '\n';
  out << facts_table(view) << advice_lines(view);
}

}  // namespace penstock::tools
