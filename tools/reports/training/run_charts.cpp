#include "tools/reports/training/run_charts.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace penstock::tools {
namespace {

using StepValue = std::function<double(const StepRecord&)>;
using ValidationValue = std::function<double(const ValidationRecord&)>;

template <typename Record>
std::vector<CurveColumn> columns_by(const std::vector<Record>& records,
                                    const std::function<double(const Record&)>& value,
                                    const ColumnGrid& grid) {
  std::vector<CurvePoint> curve;
  curve.reserve(records.size());
  for (const Record& record : records) curve.push_back({record.step, value(record)});
  return curve_columns(curve, grid);
}

/// Makes charts that all span the same steps.
class ChartMaker {
 public:
  explicit ChartMaker(std::span<const ReportedRun> runs) : runs_(runs) {
    std::int64_t last = 1;
    for (const ReportedRun& run : runs) {
      if (!run.history.steps.empty()) last = std::max(last, run.history.steps.back().step);
      if (!run.history.validations.empty())
        last = std::max(last, run.history.validations.back().step);
    }
    grid_ = {.first = 1, .last = last, .columns = kChartColumns};
  }

  /// Adds lines to a chart, one for each run. A single run's line has the name that is given.
  template <typename Record>
  void add_lines(LineChart& chart, const std::vector<Record> RunHistory::*records,
                 const std::function<double(const Record&)>& value, const std::string& name) const {
    for (const ReportedRun& run : runs_)
      chart.lines.push_back(
          {runs_.size() == 1 ? name : run.name, columns_by(run.history.*records, value, grid_)});
  }

  /// Adds a chart unless none of its lines has a point.
  void add(LineChart chart) {
    chart.first = 0;
    chart.last = grid_.last;
    const auto drawn = [](const ChartLine& line) { return !line.columns.empty(); };
    if (std::ranges::any_of(chart.lines, drawn)) charts_.push_back(std::move(chart));
  }

  bool single() const { return runs_.size() == 1; }
  std::vector<LineChart> take() { return std::move(charts_); }

 private:
  std::span<const ReportedRun> runs_;
  ColumnGrid grid_;
  std::vector<LineChart> charts_;
};

void add_losses(ChartMaker& maker) {
  const StepValue trained = [](const StepRecord& step) { return step.loss; };
  const ValidationValue validated = [](const ValidationRecord& each) { return each.loss; };
  LineChart training{.id = "loss",
                     .title = maker.single() ? "Loss" : "Training loss",
                     .note = "mean of an utterance",
                     .may_be_logarithmic = true};
  maker.add_lines(training, &RunHistory::steps, trained, "training");
  LineChart validation = training;
  if (maker.single()) {
    maker.add_lines(training, &RunHistory::validations, validated, "validation");
    maker.add(std::move(training));
    return;
  }
  maker.add(std::move(training));
  validation.id = "validation-loss";
  validation.title = "Validation loss";
  validation.lines.clear();
  maker.add_lines(validation, &RunHistory::validations, validated, "");
  maker.add(std::move(validation));
}

void add_error_rates(ChartMaker& maker) {
  const ValidationValue wer = [](const ValidationRecord& each) { return 100 * each.wer; };
  const ValidationValue cer = [](const ValidationRecord& each) { return 100 * each.cer; };
  LineChart words{.id = "wer",
                  .title = maker.single() ? "Error rates" : "Word error rate",
                  .note = "of validations",
                  .unit = " %",
                  .from_zero = true};
  LineChart characters = words;
  maker.add_lines(words, &RunHistory::validations, wer, "WER, of words");
  if (maker.single()) {
    maker.add_lines(words, &RunHistory::validations, cer, "CER, of characters");
    maker.add(std::move(words));
    return;
  }
  maker.add(std::move(words));
  characters.id = "cer";
  characters.title = "Character error rate";
  maker.add_lines(characters, &RunHistory::validations, cer, "");
  maker.add(std::move(characters));
}

void add_step_chart(ChartMaker& maker, LineChart chart, const StepValue& value) {
  maker.add_lines(chart, &RunHistory::steps, value, chart.title);
  maker.add(std::move(chart));
}

}  // namespace

std::vector<LineChart> run_charts(std::span<const ReportedRun> runs) {
  ChartMaker maker(runs);
  add_losses(maker);
  add_error_rates(maker);
  add_step_chart(maker, {.id = "learning-rate", .title = "Learning rate", .from_zero = true},
                 [](const StepRecord& step) { return step.learning_rate; });
  add_step_chart(maker,
                 {.id = "speed",
                  .title = "Throughput",
                  .note = "seconds of audio a second",
                  .from_zero = true},
                 [](const StepRecord& step) { return step.speed(); });
  add_step_chart(maker,
                 {.id = "gradient-norm",
                  .title = "Gradient norm",
                  .note = "before clipping",
                  .may_be_logarithmic = true},
                 [](const StepRecord& step) { return step.gradient_norm; });
  add_step_chart(maker,
                 {.id = "step-seconds", .title = "Time of a step", .unit = " s", .from_zero = true},
                 [](const StepRecord& step) { return step.step_seconds; });
  return maker.take();
}

}  // namespace penstock::tools
