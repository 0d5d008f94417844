#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/name_match.h"
#include "base/quantities.h"
#include "base/table.h"
#include "partition/planner/report/render.h"
#include "partition/planner/search/find_schedule.h"
#include "partition/planner/simulate/memory.h"
#include "partition/schedule/csv/schedule_csv.h"
#include "partition/schedule/make_schedule.h"
#include "partition/schedule/validator/validator.h"
#include "tools/cli/escaped_stream.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/output_file.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// A schedule comes from a name, from the search, or from a file, and then all is the same: it is
// validated, simulated with equal micro-batches and links that take no time, and drawn. The
// durations are those of a rank, so that schedules with different numbers of chunks are compared at
// the same work.
//
// Everything is computed, so the command runs anywhere. It writes --csv alone, after the schedule
// has been proved sound. Exit code 2: no such schedule, or, with --check, a file that is not sound.

namespace penstock::tools {
namespace {

constexpr Limits kStages = {1, 1024}, kMicroBatches = {1, 65536}, kSeconds = {0, 1e9};
// This bounds the time and memory of a simulation.
constexpr std::int64_t kMaxPairs = 1 << 18;  // pairs of a rank and a micro-batch

struct ScheduleArguments {
  std::string name, check, csv;
  int stages = 0, micro_batches = 0;
  std::vector<double> durations = {1, 1, 1};
  double memory = 0;
  std::uint64_t seed = 1;
  std::optional<int> width = {};  // empty: as wide as the output
  bool json = false;
};

/// A schedule, and the result of the search if a search found it.
struct Made {
  partition::Schedule schedule;
  std::optional<partition::FoundSchedule> found = {};
};

Made make(const ScheduleArguments& arguments, const partition::EqualWork& work) {
  if (arguments.name != "found") {
    return {partition::make_schedule(arguments.name, work.stages, work.micro_batches)};
  }
  Made made{{}, partition::find_schedule(work, {.seed = arguments.seed})};
  made.schedule = made.found->schedule;
  return made;
}

/// Returns the times of --durations. At least one is above 0: a step of no length can't be drawn.
partition::ChunkTimes rank_times(const ScheduleArguments& arguments) {
  const auto& t = arguments.durations;
  if (t[0] + t[1] + t[2] <= 0) throw ConfigError("--durations: one of F,B,W must be above 0");
  return {t[0], t[1], t[2]};
}

/// Checks the sizes that a named schedule needs. A file has its own.
partition::EqualWork work_of(const ScheduleArguments& arguments) {
  if (arguments.stages < 1 || arguments.micro_batches < 1) {
    throw ConfigError(
        fmt::format("penstock schedule {} needs --stages P and --micro-batches M", arguments.name));
  }
  if (std::int64_t{arguments.stages} * arguments.micro_batches > kMaxPairs) {
    throw ConfigError(
        fmt::format("{} with {} have {} forward passes, but penstock schedule takes at most {}: "
                    "ask for fewer micro-batches",
                    counted(arguments.stages, "stage"),
                    counted(arguments.micro_batches, "micro-batch", "micro-batches"),
                    std::int64_t{arguments.stages} * arguments.micro_batches, kMaxPairs));
  }
  return {arguments.stages, arguments.micro_batches, rank_times(arguments), arguments.memory};
}

/// Simulates a schedule. Each of a rank's chunks takes the same time.
partition::Simulation run(const partition::Schedule& schedule,
                          const partition::ChunkTimes& of_rank) {
  std::vector<partition::ChunkTimes> times;
  for (const int rank : schedule.chunk_rank) {
    const auto chunks = static_cast<double>(std::ranges::count(schedule.chunk_rank, rank));
    times.push_back({of_rank.forward / chunks, of_rank.backward_input / chunks,
                     of_rank.backward_weight / chunks});
  }
  return partition::simulate(schedule, partition::equal_micro_batches(times));
}

/// Adds what follows from durations, in their unit: makespan, and for each rank its bubble, and the
/// most pairs of chunk and micro-batch that it holds.
void add_prices(nlohmann::ordered_json& json, const partition::Schedule& schedule,
                const partition::Simulation& run) {
  json["makespan"] = run.makespan;
  json["bubble"] = run.bubbles();
  json["peak_activations"] = partition::peak_activations(schedule);
}

void print_json(const Made& made, const partition::Simulation& run) {
  const partition::Schedule& schedule = made.schedule;
  nlohmann::ordered_json json{{"schedule", schedule.name},
                              {"stages", schedule.ranks.size()},
                              {"micro_batches", schedule.micro_batches}};
  add_prices(json, schedule, run);
  if (made.found) {
    json["lower_bound"] = made.found->lower_bound;
    json["gap"] = made.found->gap();
  }
  std::cout << json_line(json);
}

/// Prints the drawing, a row for each rank, and the makespan. The drawing may hold colours, and
/// bypasses the filter for control characters.
void print_text(const Made& made, const partition::Simulation& run, std::optional<int> asked) {
  const partition::Schedule& schedule = made.schedule;
  const std::size_t columns = output_columns();
  const int width = asked.value_or(partition::picture_width(run, columns));
  std::vector<std::vector<std::string>> rows{{"rank", "bubble", "most activations"}};
  const auto bubbles = run.bubbles();
  const auto peaks = partition::peak_activations(schedule);
  for (std::size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    rows.push_back({fmt::format("{}", rank), fmt::format("{:g}", bubbles[rank]),
                    fmt::format("{}", peaks[rank])});
  }
  const partition::Picture picture{.width = width,
                                   .time = [](double time) { return fmt::format("{:g}", time); },
                                   .colour = wants_colour()};
  std::cout << Unescaped{partition::render(schedule, run, picture)};
  if (partition::is_summary(run, width))
    std::cout << output_line(fmt::format("F forward, B input gradient, W weight gradient, G both{}",
                                         partition::kSummaryLegend));
  std::cout << '\n'
            << table_text(rows, columns) << '\n'
            << fmt::format("{}: {}, {}, makespan {:g}\n", schedule.name,
                           counted(schedule.ranks.size(), "rank"),
                           counted(schedule.micro_batches, "micro-batch", "micro-batches"),
                           run.makespan);
  if (made.found) {
    std::cout << fmt::format("no schedule within that memory is shorter than {:g}: gap {:.1f} %\n",
                             made.found->lower_bound, 100 * made.found->gap());
  }
}

/// Raises ConfigError for an unknown name, or for an option that would be ignored.
void check_name(const CLI::App& command, const std::string& name) {
  const auto names = partition::all_schedule_names();
  if (!partition::is_schedule(name))
    throw ConfigError(fmt::format("there is no schedule {}: known are {}{}", name,
                                  fmt::join(names, ", "), did_you_mean(name, names)));
  if (name != partition::kFound)
    require_absent(command, {"--memory", "--seed"}, std::string(partition::kFound));
}

int run_schedule(const CLI::App& command, const ScheduleArguments& arguments) {
  check_name(command, arguments.name);
  const partition::EqualWork work = work_of(arguments);
  check_outputs({{"--csv", arguments.csv}});
  const Made made = make(arguments, work);
  partition::validate(made.schedule);
  if (!arguments.csv.empty()) write_output(arguments.csv, partition::schedule_csv(made.schedule));
  const partition::Simulation simulated = run(made.schedule, work.of_rank);
  if (arguments.json)
    print_json(made, simulated);
  else
    print_text(made, simulated, arguments.width);
  return exit_done;
}

/// Checks a file. It is drawn and priced only with --durations, since its cells say nothing of
/// times.
int check_schedule(const CLI::App& command, const ScheduleArguments& arguments) {
  require_absent(command, {"--stages", "--micro-batches", "--memory", "--seed", "--csv"},
                 "a schedule by its name, not for --check");
  const bool priced = command.count("--durations") > 0;
  if (!priced)
    require_absent(command, {"--width"}, "a drawing, which --check makes with --durations");
  const Made made{partition::check_schedule_file(arguments.check)};
  const partition::Schedule& schedule = made.schedule;
  const std::size_t stages = schedule.ranks.size();
  if (arguments.json) {
    nlohmann::ordered_json json{{"sound", true},
                                {"stages", stages},
                                {"chunks", schedule.chunks()},
                                {"micro_batches", schedule.micro_batches}};
    if (priced) add_prices(json, schedule, run(schedule, rank_times(arguments)));
    std::cout << json_line(json);
    return exit_done;
  }
  std::cout << fmt::format("{}: sound: {}, {}, {}\n", arguments.check, counted(stages, "rank"),
                           counted(schedule.chunks(), "chunk"),
                           counted(schedule.micro_batches, "micro-batch", "micro-batches"));
  if (priced) print_text(made, run(schedule, rank_times(arguments)), arguments.width);
  return exit_done;
}

/// Adds the argument that names a schedule.
CLI::Option* takes_schedule(CLI::App* command, std::string& name) {
  return command
      ->add_option("name", name,
                   "gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, v-half, v-min, dualpipe-v, or "
                   "found: the best that a search finds. interleaved has two chunks a rank, "
                   "interleaved-3 three, and so on.")
      ->type_name("SCHEDULE");
}

}  // namespace

void add_schedule(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<ScheduleArguments>();
  CLI::App* command = app.add_subcommand(
      "schedule", "Draw a schedule and estimate its step, or check a schedule in a file");
  CLI::Option* name = takes_schedule(command, arguments->name);
  takes_whole(command->add_option("--stages", arguments->stages, "Ranks of the pipeline"), kStages);
  takes_whole(
      command->add_option("--micro-batches", arguments->micro_batches, "Micro-batches of a step"),
      kMicroBatches);
  takes_number(command->add_option("--durations", arguments->durations,
                                   "F,B,W: seconds of a micro-batch's forward, input gradient and "
                                   "weight gradient on a rank. Its chunks share them evenly. With "
                                   "--check, the file is priced."),
               kSeconds)
      ->delimiter(',')
      ->expected(3);
  takes_number(command->add_option("--memory", arguments->memory,
                                   "With found: micro-batches that a rank may hold. Default: the "
                                   "number of stages, as with 1f1b"),
               {1, 65536});
  takes_seed(command->add_option("--seed", arguments->seed, "With found: seed of the search"));
  command->add_option("--csv", arguments->csv,
                      "Write the schedule to this file, a row for each rank");
  takes_whole(command->add_option("--width", arguments->width,
                                  "Columns of the drawing. Default: as many as the terminal has"),
              {10, 10000});
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command
      ->add_option("--check", arguments->check, "Check whether the schedule in a CSV file is sound")
      ->excludes(name);
  command->footer(
      "With --check, exit code 2 means that the schedule is not sound. The error says where.\n\n"
      "Examples:\n"
      "  penstock schedule zb-h1 --stages 4 --micro-batches 8 --durations 1,1,0.8\n"
      "  penstock schedule zb-v --stages 4 --micro-batches 8 --csv zb-v.csv\n"
      "  penstock schedule --check zb-v.csv\n"
      "  penstock schedule --check zb-v.csv --durations 1,1,0.8");
  command->callback([arguments, command, name, &run] {
    if (arguments->check.empty() && name->empty()) {
      throw CLI::RequiredError("name of a schedule, or --check FILE,");
    }
    run = on_rank_0([arguments, command] {
      return arguments->check.empty() ? run_schedule(*command, *arguments)
                                      : check_schedule(*command, *arguments);
    });
  });
}

}  // namespace penstock::tools
