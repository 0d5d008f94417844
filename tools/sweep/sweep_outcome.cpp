#include "tools/sweep/sweep_outcome.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/encoded_text.h"
#include "base/table.h"

namespace penstock::tools {
namespace {

/// Returns a field as RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

std::string csv_line(const std::vector<std::string>& fields) {
  std::vector<std::string> texts;
  for (const std::string& field : fields) texts.push_back(csv_field(field));
  return fmt::format("{}\r\n", fmt::join(texts, ","));
}

std::string errors_text(const SweepOutcome& outcome, const std::vector<std::size_t>& order) {
  std::string text;
  for (const std::size_t i : order)
    if (const SweptRun& run = outcome.runs[i]; run.result.state == RunState::failed)
      text += fmt::format("run {} failed: {}\n", run.number, run.result.error);
  return text;
}

}  // namespace

std::vector<std::size_t> ranked_runs(const SweepOutcome& outcome) {
  std::vector<std::size_t> order(outcome.runs.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const RunResult& result = outcome.runs[i].result;
    const bool failed = result.state == RunState::failed;
    return std::pair(failed, result.best.value_or(std::numeric_limits<double>::infinity()));
  });
  return order;
}

std::optional<std::size_t> best_run(const SweepOutcome& outcome) {
  const std::vector<std::size_t> order = ranked_runs(outcome);
  if (order.empty()) return std::nullopt;
  const RunResult& first = outcome.runs[order.front()].result;
  const bool counts = first.best && first.state != RunState::failed;
  return counts ? std::optional(order.front()) : std::nullopt;
}

std::vector<std::string> short_keys(const SweepPlan& plan) {
  const auto leaf = [](const std::string& key) { return key.substr(key.find('.') + 1); };
  std::vector<std::string> names;
  for (const SweepAxis& axis : plan.axes) {
    const std::string name = leaf(axis.key);
    const auto same = std::ranges::count_if(
        plan.axes, [&](const SweepAxis& other) { return leaf(other.key) == name; });
    names.push_back(same == 1 ? name : axis.key);
  }
  return names;
}

std::string settings_text(const SweepPlan& plan, std::size_t run) {
  const std::vector<std::string> keys = short_keys(plan);
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < keys.size(); ++i)
    texts.push_back(fmt::format("{}={}", keys[i], plan.points[run - 1][i]));
  return fmt::format("{}", fmt::join(texts, " "));
}

std::string metric_name(const std::string& metric) {
  if (metric == "wer") return "WER";
  return metric == "cer" ? "CER" : "loss";
}

std::string metric_text(const std::string& metric, double value) {
  return metric == "loss" ? fmt::format("{:.4g}", value) : fmt::format("{:.2f} %", 100 * value);
}

std::string result_text(const SweepPlan& plan, const RunResult& result) {
  if (!result.best) return fmt::format("no finite {}", metric_name(plan.metric));
  return fmt::format("{} {} at step {}", metric_name(plan.metric),
                     metric_text(plan.metric, *result.best), result.best_step);
}

std::string state_text(const RunResult& result) {
  switch (result.state) {
    case RunState::waiting:
      return "waiting";
    case RunState::begun:
      return fmt::format("at step {}", result.step);
    case RunState::paused:
      return fmt::format("left at step {}", result.step);
    case RunState::done:
      return "done";
    case RunState::failed:
      return "failed";
  }
  return "";
}

std::string sweep_table(const SweepOutcome& outcome, std::size_t columns) {
  const SweepPlan& plan = outcome.plan;
  const std::vector<std::size_t> order = ranked_runs(outcome);
  TableRows rows = {{"run"}};
  for (const std::string& key : short_keys(plan)) rows[0].push_back(key);
  rows[0].insert(rows[0].end(), {metric_name(plan.metric), "at step", "state"});
  for (const std::size_t i : order) {
    const auto& [number, output, result] = outcome.runs[i];
    std::vector<std::string>& row = rows.emplace_back();
    row.push_back(fmt::format("{}", number));
    row.insert(row.end(), plan.points[i].begin(), plan.points[i].end());
    row.push_back(result.best ? metric_text(plan.metric, *result.best) : "–");
    row.push_back(result.best ? fmt::format("{}", result.best_step) : "–");
    row.push_back(state_text(result));
  }
  std::string text = table_text(rows, columns) + errors_text(outcome, order);
  if (const auto best = best_run(outcome))
    text += fmt::format("best: {}/BEST\n", shell_word(outcome.runs[*best].output));
  return text;
}

std::string sweep_csv(const SweepOutcome& outcome) {
  const SweepPlan& plan = outcome.plan;
  std::vector<std::string> heads = {"run"};
  for (const SweepAxis& axis : plan.axes) heads.push_back(axis.key);
  heads.insert(heads.end(), {plan.metric, "at_step", "last_step", "state", "output", "error"});
  std::string text = csv_line(heads);
  for (const std::size_t i : ranked_runs(outcome)) {
    const auto& [number, output, result] = outcome.runs[i];
    std::vector<std::string> fields = {fmt::format("{}", number)};
    fields.insert(fields.end(), plan.points[i].begin(), plan.points[i].end());
    fields.push_back(result.best ? fmt::format("{}", *result.best) : "");
    fields.push_back(result.best ? fmt::format("{}", result.best_step) : "");
    fields.push_back(fmt::format("{}", result.step));
    fields.push_back(state_text(result));
    fields.insert(fields.end(), {output, result.error});
    text += csv_line(fields);
  }
  return text;
}

}  // namespace penstock::tools
