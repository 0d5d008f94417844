#include "tools/reports/training/plan_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/quantities.h"
#include "partition/planner/plan/plan_schedule.h"
#include "partition/planner/simulate/simulate.h"
#include "tools/reports/training/html_text.h"

// Both drawings are 600 units wide, as charts are, and colours are those of `penstock plan
// --report`. A bar's number and a pass's name are titles of their rectangles, which browsers show
// under the pointer.

namespace penstock::tools {
namespace {

constexpr double kDrawingWidth = 600, kRowLeft = 66;
constexpr std::int64_t kMostPasses = 3000;
constexpr int kMostStages = 64;

struct MemoryKind {
  const char *name, *colour;
  std::size_t partition::StageBytes::*bytes;
};

constexpr MemoryKind kMemoryKinds[] = {{"weights", "m0", &partition::StageBytes::weights},
                                       {"gradients", "m1", &partition::StageBytes::gradients},
                                       {"optimizer", "m2", &partition::StageBytes::optimizer},
                                       {"statistics", "m3", &partition::StageBytes::state},
                                       {"activations", "m4", &partition::StageBytes::saved},
                                       {"messages", "m5", &partition::StageBytes::messages},
                                       {"scratch", "m6", &partition::StageBytes::scratch},
                                       {"reduction", "m7", &partition::StageBytes::reduction}};

std::string row_label(int stage, double y) {
  return fmt::format("<text class=\"y\" x=\"{:.0f}\" y=\"{:.0f}\">stage {}</text>", kRowLeft - 8, y,
                     stage);
}

std::string drawing_html(const std::string& label, double height, const std::string& content) {
  return fmt::format("<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}</svg>\n",
                     kDrawingWidth, height, label, content);
}

std::string memory_row(const partition::StageBytes& bytes, double scale, double y) {
  std::string row;
  double x = kRowLeft;
  for (const MemoryKind& kind : kMemoryKinds) {
    const auto size = static_cast<double>(bytes.*kind.bytes);
    if (size == 0) continue;
    row += fmt::format(
        "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"18\"><title>{}: "
        "{}</title></rect>",
        kind.colour, x, y, size * scale, kind.name, bytes_text(size));
    x += size * scale;
  }
  return row + fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x + 8, y + 14,
                           bytes_text(static_cast<double>(bytes.total())));
}

std::string memory_legend(const partition::Plan& plan) {
  std::string entries;
  for (const MemoryKind& kind : kMemoryKinds)
    for (int stage = 0; stage < plan.stages(); ++stage)
      if (plan.bytes_of(stage).*kind.bytes > 0) {
        entries += fmt::format("<li><i class=\"{}\"></i>{}</li>", kind.colour, kind.name);
        break;
      }
  return fmt::format("<ul class=\"legend\">{}</ul>\n", entries);
}

/// Returns the passes' times, where a micro-batch takes 1 over all chunks.
std::vector<partition::ChunkTimes> chunk_times(const partition::Plan& plan,
                                               const partition::Schedule& schedule) {
  double shares = 0;
  for (const partition::ChunkPlan& chunk : plan.chunks) shares += chunk.predicted.time_share;
  std::vector<partition::ChunkTimes> times;
  for (const partition::ChunkPlan& chunk : plan.chunks) {
    const double share = shares > 0 ? chunk.predicted.time_share / shares
                                    : 1.0 / static_cast<double>(schedule.chunks());
    times.push_back({share / 3, share / 3, share / 3});
  }
  return times;
}

const char* pass_colour(partition::ActionKind kind) {
  if (kind == partition::ActionKind::forward) return "forward";
  if (kind == partition::ActionKind::backward_input) return "input";
  return kind == partition::ActionKind::backward_weight ? "weight" : "both";
}

std::string pass_svg(const partition::TimedAction& timed, double scale, double y) {
  const double x = kRowLeft + timed.start * scale, width = (timed.end - timed.start) * scale;
  std::string svg = fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"20\"><title>{}"
      "</title></rect>",
      pass_colour(timed.action.kind), x, y, std::max(0.5, width - 1),
      html_text(partition::describe(timed.action)));
  const std::string number = fmt::format("{}", timed.action.micro_batch);
  if (width > 9 * static_cast<double>(number.size()) + 3)
    svg += fmt::format("<text class=\"pass\" x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", x + width / 2,
                       y + 14.5, number);
  return svg;
}

/// Returns the legend of the passes that a schedule has.
std::string pass_legend(bool splits_backward) {
  constexpr const char* kEntry = "<li><i class=\"{}\"></i>{}</li>";
  std::string entries = fmt::format(kEntry, "forward", "forward");
  entries += splits_backward ? fmt::format(kEntry, "input", "backward, input") +
                                   fmt::format(kEntry, "weight", "backward, weights")
                             : fmt::format(kEntry, "both", "backward");
  return fmt::format("<ul class=\"legend\">{}</ul>\n", entries);
}

/// Returns rows and axis of a simulated step; "busy" is the share of it in which a stage computes.
std::string timeline_svg(const partition::Simulation& step) {
  constexpr double kRight = 534;
  const double scale = (kRight - kRowLeft) / step.makespan;
  std::string svg = fmt::format("<text x=\"{:.0f}\" y=\"13\">busy</text>", kRight + 10);
  double y = 20;
  for (std::size_t rank = 0; rank < step.ranks.size(); ++rank, y += 26) {
    svg += row_label(static_cast<int>(rank), y + 14.5);
    double busy = 0;
    for (const partition::TimedAction& timed : step.ranks[rank])
      if (partition::computes(timed.action.kind)) {
        svg += pass_svg(timed, scale, y);
        busy += timed.end - timed.start;
      }
    svg += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\">{:.0f} %</text>", kRight + 10, y + 14.5,
                       100 * busy / step.makespan);
  }
  for (const int percent : {0, 20, 40, 60, 80, 100}) {
    const double x = kRowLeft + (kRight - kRowLeft) * percent / 100;
    svg += fmt::format(
        "<path class=\"grid\" d=\"M{0:.1f} {1:.0f}v5\"/><text class=\"x\" x=\"{0:.1f}\" "
        "y=\"{2:.0f}\">{3} %</text>",
        x, y, y + 18, percent);
  }
  return drawing_html("Passes of one step over time", y + 24, svg);
}

}  // namespace

std::string plan_memory_html(const partition::Plan& plan, double limit) {
  double largest = limit;
  for (int stage = 0; stage < plan.stages(); ++stage)
    largest = std::max(largest, static_cast<double>(plan.bytes_of(stage).total()));
  if (plan.stages() == 0 || largest == 0) return "";
  const double scale = (kDrawingWidth - kRowLeft - 80) / largest;
  std::string svg;
  double y = 4;
  for (int stage = 0; stage < plan.stages(); ++stage, y += 26)
    svg += row_label(stage, y + 14) + memory_row(plan.bytes_of(stage), scale, y);
  if (limit > 0) {
    const double x = kRowLeft + limit * scale;
    svg += fmt::format(
        "<path class=\"limit\" d=\"M{0:.1f} 0V{1:.0f}\"/><text class=\"axis\" x=\"{0:.1f}\" "
        "y=\"{2:.0f}\">pipeline.memory_gib: {3}</text>",
        x, y, y + 14, bytes_text(limit));
    y += 20;
  }
  return "<figure class=\"drawing\">\n" + drawing_html("Planned memory of each stage", y, svg) +
         memory_legend(plan) + "</figure>\n";
}

std::string plan_timeline_html(const partition::Plan& plan) {
  const partition::RunSchedule lists = partition::schedule_of(plan);
  const int micro_batches = partition::micro_batches_per_replica(plan);
  // The passes are counted before their lists are made, which may be long.
  const std::int64_t passes = std::ssize(lists.chunk_ranks()) * std::int64_t{micro_batches} *
                              (lists.splits_backward() ? 3 : 2);
  if (passes > kMostPasses || plan.stages() > kMostStages)
    return fmt::format(
        "<p class=\"note\">A step has {} on {}, too many to draw here; penstock plan "
        "--report shows them.</p>\n",
        counted(passes, "pass", "passes"), counted(plan.stages(), "stage"));
  const partition::Schedule schedule = lists.of(micro_batches);
  const partition::Simulation step =
      partition::simulate(schedule, partition::equal_micro_batches(chunk_times(plan, schedule)));
  return "<figure class=\"drawing\">\n" + timeline_svg(step) +
         pass_legend(partition::splits_backward(schedule)) + "</figure>\n";
}

}  // namespace penstock::tools
