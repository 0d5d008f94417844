#include "tools/reports/training/run_charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <utility>

#include "base/quantities.h"

namespace penstock::tools {
namespace {

template <typename Record>
using RecordValue = std::function<std::optional<double>(const Record&)>;
using StepValue = RecordValue<StepRecord>;
using ValidationValue = RecordValue<ValidationRecord>;

std::optional<double> percent(std::optional<double> rate) {
  if (!rate) return std::nullopt;
  return 100 * *rate;
}

template <typename Record>
std::vector<CurveColumn> columns_by(const std::vector<Record>& records,
                                    const RecordValue<Record>& value, const ColumnGrid& grid) {
  std::vector<CurvePoint> curve;
  curve.reserve(records.size());
  for (const Record& record : records)
    if (const std::optional<double> number = value(record)) curve.push_back({record.step, *number});
  return curve_columns(curve, grid);
}

/// Makes charts that all span the same steps: from 0 on, or from the first step if that is above a
/// tenth of the last one, as it is for a run whose earlier metrics lie elsewhere.
class ChartMaker {
 public:
  explicit ChartMaker(std::span<const ReportedRun> runs) : runs_(runs) {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = 1;
    const auto span = [&](const auto& records) {
      if (records.empty()) return;
      first = std::min(first, records.front().step);
      last = std::max(last, records.back().step);
    };
    for (const ReportedRun& run : runs) {
      span(run.history.steps);
      span(run.history.validations);
    }
    begins_late_ = first > 1 && first <= last && first > last / 10;
    grid_ = {.first = begins_late_ ? first : 1, .last = last, .columns = kChartColumns};
  }

  /// Adds lines to a chart, one for each run. A single run's line has the name that is given.
  template <typename Record>
  void add_lines(LineChart& chart, const std::vector<Record> RunHistory::*records,
                 const RecordValue<Record>& value, const std::string& name) const {
    for (const ReportedRun& run : runs_)
      chart.lines.push_back(
          {runs_.size() == 1 ? name : run.name, columns_by(run.history.*records, value, grid_)});
  }

  /// Adds a chart unless none of its lines has a point.
  void add(LineChart chart) {
    chart.first = begins_late_ ? grid_.first : 0;
    chart.last = grid_.last;
    const auto drawn = [](const ChartLine& line) { return !line.columns.empty(); };
    if (std::ranges::any_of(chart.lines, drawn)) charts_.push_back(std::move(chart));
  }

  bool single() const { return runs_.size() == 1; }
  std::vector<LineChart> take() { return std::move(charts_); }

 private:
  std::span<const ReportedRun> runs_;
  ColumnGrid grid_;
  bool begins_late_ = false;
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
  const ValidationValue wer = [](const ValidationRecord& each) { return percent(each.wer); };
  const ValidationValue cer = [](const ValidationRecord& each) { return percent(each.cer); };
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

/// Returns the manifests of a run's validations, in the order in which they first occur.
std::vector<std::string> validated_manifests(const RunHistory& history) {
  std::vector<std::string> names;
  for (const ValidationRecord& validation : history.validations)
    for (const ManifestRecord& each : validation.manifests)
      if (std::ranges::find(names, each.manifest) == names.end()) names.push_back(each.manifest);
  return names;
}

/// Adds a chart with a line for each manifest of the validations, for a single run.
void add_manifest_rates(ChartMaker& maker, const RunHistory& history) {
  const std::vector<std::string> names = validated_manifests(history);
  LineChart chart{.id = "manifest-wer",
                  .title = "Word error rate of each manifest",
                  .note = "of validations",
                  .unit = " %",
                  .from_zero = true};
  if (names.size() > kLineStyles)
    chart.note +=
        fmt::format(", {} left out",
                    counted(static_cast<std::int64_t>(names.size() - kLineStyles), "manifest"));
  for (std::size_t i = 0; i < std::min(names.size(), kLineStyles); ++i)
    maker.add_lines(chart, &RunHistory::validations,
                    ValidationValue([&name = names[i]](const ValidationRecord& validation) {
                      const auto found =
                          std::ranges::find(validation.manifests, name, &ManifestRecord::manifest);
                      return found == validation.manifests.end() ? std::nullopt
                                                                 : percent(found->wer);
                    }),
                    names[i]);
  maker.add(std::move(chart));
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
  if (runs.size() == 1) add_manifest_rates(maker, runs.front().history);
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
