#include "tools/sweep/sweep_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "partition/planner/report/html_page.h"
#include "tools/reports/training/html_text.h"
#include "tools/reports/training/page_texts.h"
#include "tools/sweep/page_texts.h"
#include "tools/sweep/parallel_axes.h"

// The drawing and the table are HTML and SVG from here on, as those of `penstock report`, so that
// they are read without scripts. The page's script shows the values of the run under the pointer
// and marks its line and its row.

namespace penstock::tools {
namespace {

std::string cell_html(const std::string& text, const char* kind = "n") {
  return fmt::format("<td class=\"{}\">{}</td>", kind, html_text(text));
}

std::string head_row(const SweepOutcome& outcome) {
  std::string html = "<thead><tr><th scope=\"col\" class=\"n\">run</th>";
  for (const std::string& key : short_keys(outcome.plan))
    html += fmt::format("<th scope=\"col\" class=\"n\">{}</th>", html_text(key));
  return html + fmt::format(
                    "<th scope=\"col\" class=\"n\">{}</th><th scope=\"col\" class=\"n\">at "
                    "step</th><th scope=\"col\">state</th></tr></thead>\n",
                    metric_name(outcome.plan.metric));
}

std::string run_row(const SweepOutcome& outcome, std::size_t i) {
  const auto& [number, output, result] = outcome.runs[i];
  std::string html = fmt::format("<tr data-run=\"{}\">", i) + cell_html(fmt::format("{}", number));
  for (const std::string& value : outcome.plan.points[i]) html += cell_html(value);
  html += cell_html(result.best ? metric_text(outcome.plan.metric, *result.best) : "–");
  html += cell_html(result.best ? fmt::format("{}", result.best_step) : "–");
  const std::string why = result.error.empty() ? "" : ": " + result.error;
  return html + cell_html(state_text(result) + why, "") + "</tr>\n";
}

std::string table_of_runs(const SweepOutcome& outcome) {
  std::string html =
      "<div class=\"scroll\"><table class=\"runs\">\n" + head_row(outcome) + "<tbody>\n";
  for (const std::size_t i : ranked_runs(outcome)) html += run_row(outcome, i);
  return html + "</tbody></table></div>\n";
}

/// Says how many runs are in which state, and what is best.
std::string headline_text(const SweepOutcome& outcome) {
  const auto count = [&](RunState state) {
    return std::ranges::count_if(outcome.runs,
                                 [&](const SweptRun& run) { return run.result.state == state; });
  };
  std::string text =
      fmt::format("{}, {} done", counted(static_cast<std::int64_t>(outcome.runs.size()), "run"),
                  count(RunState::done));
  if (const auto n = count(RunState::paused)) text += fmt::format(", {} left by halving", n);
  if (const auto n = count(RunState::failed)) text += fmt::format(", {} failed", n);
  if (const auto n = count(RunState::begun)) text += fmt::format(", {} begun", n);
  if (const auto n = count(RunState::waiting)) text += fmt::format(", {} waiting", n);
  const auto place = best_run(outcome);
  if (!place) return text;
  const SweptRun& best = outcome.runs[*place];
  return text + fmt::format("; best is run {} with {}: {}", best.number,
                            result_text(outcome.plan, best.result),
                            settings_text(outcome.plan, best.number));
}

/// Returns the text of each run that the script shows beside the pointer.
nlohmann::ordered_json tips_json(const SweepOutcome& outcome) {
  auto tips = nlohmann::ordered_json::array();
  const std::vector<std::string> keys = short_keys(outcome.plan);
  for (std::size_t i = 0; i < outcome.runs.size(); ++i) {
    std::string text = fmt::format("run {}: {}", outcome.runs[i].number,
                                   result_text(outcome.plan, outcome.runs[i].result));
    for (std::size_t k = 0; k < keys.size(); ++k)
      text += fmt::format("\n{} {}", keys[k], outcome.plan.points[i][k]);
    tips.push_back(text);
  }
  return tips;
}

std::string sections_of_sweep(const SweepOutcome& outcome) {
  std::string html = fmt::format("<h1>{}</h1>\n<p id=\"headline\">{}</p>\n</header>\n",
                                 html_text(outcome.folder), html_text(headline_text(outcome)));
  if (const std::string drawing = parallel_axes_html(outcome); !drawing.empty())
    html += "<section aria-labelledby=\"h-axes\">\n<h2 id=\"h-axes\">Settings and result</h2>\n" +
            drawing + "</section>\n";
  return html + "<section aria-labelledby=\"h-runs\">\n<h2 id=\"h-runs\">Runs</h2>\n" +
         table_of_runs(outcome) + "</section>\n";
}

}  // namespace

// Values are in both texts. HTML holds no place, by html_text(). JSON may hold one, but the body's
// own place comes before the data, and the first is filled.
std::string sweep_page(const SweepOutcome& outcome) {
  const std::string title = html_text("penstock sweep: " + outcome.folder);
  const std::string style = fmt::format("{}{}", training_style(), sweep_style());
  std::string page = partition::assembled_page({title, sweep_body(), style, sweep_script()});
  const nlohmann::ordered_json data{{"runs", tips_json(outcome)}};
  partition::fill_place(page, "{{data}}",
                        partition::json_in_html(data.dump(
                            -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace)));
  partition::fill_place(page, "{{sections}}", sections_of_sweep(outcome));
  return page;
}

}  // namespace penstock::tools
