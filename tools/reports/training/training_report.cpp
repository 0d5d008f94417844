#include "tools/reports/training/training_report.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/averages.h"
#include "base/error.h"
#include "base/quantities.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/report/html_page.h"
#include "tools/reports/training/html_text.h"
#include "tools/reports/training/incidents.h"
#include "tools/reports/training/page_texts.h"
#include "tools/reports/training/plan_drawing.h"
#include "tools/reports/training/results_section.h"
#include "tools/reports/training/run_charts.h"
#include "tools/reports/training/run_figures.h"

// Charts and tables are HTML and SVG from here on, so that they can be tested, printed, and read
// without scripts. The page's script only adds the values under the pointer, which it reads from
// the page's data: the columns of each chart's lines.

namespace penstock::tools {
namespace {

using ReportJson = nlohmann::ordered_json;

/// Rounds to six digits, which makes the page shorter.
double rounded_value(double value) {
  return std::strtod(fmt::format("{:.6g}", value).c_str(), nullptr);
}

ReportJson chart_json(const LineChart& chart) {
  ReportJson lines = ReportJson::array();
  for (const ChartLine& line : chart.lines) {
    ReportJson columns = ReportJson::array();
    for (const CurveColumn& c : line.columns)
      columns.push_back({c.first, c.last, rounded_value(c.mean), rounded_value(c.least),
                         rounded_value(c.most), c.finite});
    lines.push_back({{"name", line.name}, {"columns", columns}});
  }
  return {{"unit", chart.unit}, {"first", chart.first}, {"last", chart.last}, {"lines", lines}};
}

std::string section_html(const std::string& id, const std::string& title,
                         const std::string& content) {
  if (content.empty()) return "";
  return fmt::format(
      "<section aria-labelledby=\"h-{0}\">\n<h2 id=\"h-{0}\">{1}</h2>\n{2}</section>\n", id, title,
      content);
}

/// Returns a value as HTML that does not break before "%".
std::string value_html(const std::string& value) {
  if (value.empty()) return "–";
  std::string html = html_text(value);
  for (auto at = html.find(" %"); at != std::string::npos; at = html.find(" %", at))
    html.replace(at, 1, "&nbsp;");
  return html;
}

/// Returns a table with a column for each run; "" if there are no rows.
std::string table_html(std::span<const ReportedRun> runs, const std::vector<RunRow>& rows) {
  if (rows.empty()) return "";
  std::string html = "<div class=\"scroll\"><table>\n";
  if (runs.size() > 1) {
    html += "<thead><tr><td></td>";
    for (const ReportedRun& run : runs)
      html += fmt::format("<th scope=\"col\">{}</th>", html_text(run.name));
    html += "</tr></thead>\n";
  }
  html += "<tbody>\n";
  for (const RunRow& row : rows) {
    html += fmt::format("<tr><th scope=\"row\">{}</th>", html_text(row.name));
    for (const std::string& value : row.values)
      html += fmt::format("<td>{}</td>", value_html(value));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string notes_html(std::span<const ReportedRun> runs) {
  std::string notes;
  for (const ReportedRun& run : runs)
    for (const std::string& note : run.notes)
      notes +=
          fmt::format("<li>{}</li>\n", html_text(runs.size() > 1 ? run.name + ": " + note : note));
  return notes.empty() ? "" : fmt::format("<ul class=\"notes\">\n{}</ul>\n", notes);
}

std::string page_title(std::span<const ReportedRun> runs) {
  if (runs.size() == 1) return runs.front().name;
  return counted(static_cast<std::int64_t>(runs.size()), "run");
}

std::string head_html(std::span<const ReportedRun> runs) {
  std::string html = fmt::format("<h1>{}</h1>\n", html_text(page_title(runs)));
  if (runs.size() == 1)
    html += fmt::format("<p id=\"headline\">{}</p>\n", html_text(run_headline(runs.front())));
  return html + notes_html(runs) + table_html(runs, run_figures(runs)) + "</header>\n";
}

/// Returns the run's name as a heading where a page has several.
std::string run_heading(std::span<const ReportedRun> runs, const ReportedRun& run) {
  return runs.size() > 1 ? fmt::format("<h3>{}</h3>\n", html_text(run.name)) : "";
}

std::string incidents_of_runs(std::span<const ReportedRun> runs) {
  std::string html;
  for (const ReportedRun& run : runs)
    if (const std::string table = incidents_html(run.incidents); !table.empty())
      html += run_heading(runs, run) + table;
  return html;
}

std::string shares_of_runs(std::span<const ReportedRun> runs) {
  std::string html;
  for (const ReportedRun& run : runs)
    if (!run.shares.empty()) html += run_heading(runs, run) + shares_html(run.shares);
  return html;
}

/// Returns what a rank may use in bytes, by the recipe; 0: no limit.
double memory_limit(const ReportedRun& run) {
  const auto found = run.state->config.find("pipeline.memory_gib");
  return found == run.state->config.end() ? 0 : kGib * std::strtod(found->second.c_str(), nullptr);
}

std::string memory_section(std::span<const ReportedRun> runs) {
  std::string html;
  for (const ReportedRun& run : runs)
    if (run.plan)
      if (const std::string bars = plan_memory_html(*run.plan, memory_limit(run)); !bars.empty())
        html += run_heading(runs, run) + bars;
  if (html.empty()) return "";
  return "<p class=\"note\">What a rank of each stage holds by the plan. A training allocates just "
         "this before its first step; metrics record no other measurement.</p>\n" +
         html;
}

std::string timeline_drawing(const partition::Plan& plan) try {
  return plan_timeline_html(plan);
} catch (const Error& error) {
  return fmt::format("<p class=\"note\">It can't be drawn: {}.</p>\n", html_text(error.what()));
}

/// Returns the median time of a step as a clause, or "" if no step has one.
std::string median_clause(const RunHistory& history) {
  std::vector<double> seconds;
  for (const StepRecord& step : history.steps)
    if (step.step_seconds && std::isfinite(*step.step_seconds))
      seconds.push_back(*step.step_seconds);
  return seconds.empty() ? "" : fmt::format("; {} in the median", seconds_text(median(seconds)));
}

std::string timeline_section(std::span<const ReportedRun> runs) {
  std::string html;
  for (const ReportedRun& run : runs) {
    if (!run.plan) continue;
    html += run_heading(runs, run) +
            fmt::format("<p class=\"note\">{}, {} on each replica{}.</p>\n",
                        html_text(run.plan->schedule),
                        counted(partition::micro_batches_per_replica(*run.plan), "micro-batch",
                                "micro-batches"),
                        median_clause(run.history)) +
            timeline_drawing(*run.plan);
  }
  if (html.empty()) return "";
  return "<p class=\"note\">The passes of a step by the plan's schedule and its shares of "
         "computing, a backward twice as long as a forward, messages without time. It is no "
         "measurement: penstock trace makes one.</p>\n" +
         html;
}

std::string results_section(std::span<const JudgedResults> results) {
  std::string html;
  for (const JudgedResults& each : results) html += results_html(each);
  return html;
}

std::string curves_section(std::span<const ReportedRun> runs, ReportJson& data) {
  std::string figures;
  for (const LineChart& chart : run_charts(runs)) {
    data[chart.id] = chart_json(chart);
    figures += chart_html(chart);
  }
  return figures.empty() ? "" : "<div class=\"charts\">\n" + figures + "</div>\n";
}

std::string settings_section(std::span<const ReportedRun> runs) {
  const std::string table = table_html(runs, run_settings(runs));
  if (table.empty()) return "";
  const char* note = runs.size() == 1 ? "Keys that are not the defaults, and those of the model."
                                      : "Keys that differ.";
  return fmt::format("<p class=\"note\">{}</p>\n{}", note, table);
}

std::string sections_html(const ReportedRuns& reported, ReportJson& charts) {
  const auto& [runs, results] = reported;
  return head_html(runs) + section_html("curves", "Curves", curves_section(runs, charts)) +
         section_html("data", "Data", shares_of_runs(runs)) +
         section_html("incidents", "Incidents", incidents_of_runs(runs)) +
         section_html("memory", "Memory", memory_section(runs)) +
         section_html("timeline", "One step", timeline_section(runs)) +
         section_html("evaluation", "Evaluation", results_section(results)) +
         section_html("settings", "Settings", settings_section(runs));
}

}  // namespace

std::string training_report(const ReportedRuns& reported) {
  ReportJson charts = ReportJson::object();
  const std::string sections = sections_html(reported, charts);
  const std::string title = html_text("penstock report: " + page_title(reported.runs));
  std::string page =
      partition::assembled_page({title, training_page(), training_style(), training_script()});
  // Names of runs are in both texts. HTML holds no place, by html_text(). JSON may hold one, but
  // the body's own place comes before the data, and the first is filled.
  const ReportJson data{{"charts", charts}};
  partition::fill_place(
      page, "{{data}}",
      partition::json_in_html(data.dump(-1, ' ', false, ReportJson::error_handler_t::replace)));
  partition::fill_place(page, "{{sections}}", sections);
  return page;
}

}  // namespace penstock::tools
