#include "runtime/profiling/bench.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/quantities.h"
#include "base/table.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/job/job.h"
#include "runtime/profiling/job_links.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"

// The command times whole steps on random features, so it needs a model and no data. With --links
// it is another command, which takes no model and measures what lies between the ranks.
//
// `penstock bench MODEL` takes these steps, of which runtime::bench() does the first three:
// 1. Rank 0 measures a layer of each kind. The model is cut by these times, unless --cut names the
//    cut.
// 2. All ranks run three steps of warm-up and then --steps timed ones. The report is of the median.
// 3. The step is predicted by the rates of a device file, --like, to show how far they hold.
// 4. Rank 0 prints the report, for people or as one JSON object with times in seconds.
//
// It writes no file, and reads only the model's file and the device's. Exit code 2 stands for
// replicas or a cut that do not suit the ranks.

namespace penstock::tools {
namespace {

struct BenchArguments {
  runtime::BenchOptions bench;
  std::string model;
  bool links = false;
  bool json = false;
};

nlohmann::ordered_json to_json(const std::vector<runtime::LayerKindTimes>& kinds) {
  auto list = nlohmann::ordered_json::array();
  for (const runtime::LayerKindTimes& kind : kinds)
    list.push_back({{"kind", kind.kind},
                    {"layers", kind.layers},
                    {"measured_s", kind.measured_s},
                    {"predicted_s", kind.predicted_s},
                    {"flops", kind.flops}});
  return list;
}

/// Prints the report of a model. Predictions count neither messages nor sums over replicas.
void print(const BenchArguments& arguments, const runtime::BenchReport& r) {
  if (arguments.json) {
    std::cout << json_line(nlohmann::ordered_json{{"model", arguments.model},
                                                  {"audio_s_per_s", r.audio_s_per_s},
                                                  {"flops_per_s", r.flops_per_s},
                                                  {"step_s", r.step_s},
                                                  {"spread", {r.fastest_step_s, r.slowest_step_s}},
                                                  {"parameters", r.parameters},
                                                  {"stages", r.stages},
                                                  {"replicas", r.replicas},
                                                  {"micro_batches", r.micro_batches},
                                                  {"batch", r.utterances},
                                                  {"device", r.device},
                                                  {"threads", r.threads},
                                                  {"bound", r.bound},
                                                  {"first_layers", r.first_layers},
                                                  {"stage_s", r.stage_seconds},
                                                  {"kinds", to_json(r.kinds)},
                                                  {"predicted_s", r.predicted_s},
                                                  {"predicted_by", r.predicted_by},
                                                  {"loss", r.loss}});
    return;
  }
  std::cout << output_line(fmt::format(
                   "{}: {:.1f} audio seconds a second, {:.4f} s a step ({:.4f} to {:.4f}), {} "
                   "parameters",
                   arguments.model, r.audio_s_per_s, r.step_s, r.fastest_step_s, r.slowest_step_s,
                   r.parameters))
            << output_line(fmt::format("on {}{}{}", r.device, r.how.empty() ? "" : "; ", r.how))
            << output_line(fmt::format("{} × {}, {} of {}; cut and bubble allow {:.2f} times one "
                                       "rank",
                                       counted(r.stages, "stage"), counted(r.replicas, "replica"),
                                       counted(r.micro_batches, "micro-batch", "micro-batches"),
                                       counted(r.utterances, "utterance"), r.bound))
            << output_line(fmt::format("predicted by {}: {:.4f} s a step, {:+.0f} %",
                                       r.predicted_by, r.predicted_s,
                                       100 * (r.predicted_s / r.step_s - 1)));
}

/// Loads the model as a recipe that sets model.base alone, so that its features have the model's
/// own settings. Every rank loads it, before they meet.
int run_bench(BenchArguments arguments) {
  const std::vector<std::string> base{"model.base=" + arguments.model};
  const configs::Config config = configs::load_config("", layers::model_families(), base);
  arguments.bench.model = config.model;
  arguments.bench.features = config.features;
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::BenchReport report = runtime::bench(arguments.bench, world);
        if (world.rank() == 0) print(arguments, report);
        return exit_done;
      },
      complain_in_job);
}

/// Prints a row for each measured link, from its sender to its receiver.
void print(const runtime::NeighbourSpeeds& of) {
  std::vector<std::vector<std::string>> rows{{"from", "to", "latency µs", "GB/s"}};
  for (const runtime::LinkSpeed& link : of.speeds)
    rows.push_back({fmt::format("rank {}", link.from), fmt::format("rank {}", link.to),
                    fmt::format("{:.1f}", 1e6 * link.latency_s),
                    fmt::format("{:.2f}", 1e-9 * link.bytes_per_s)});
  std::cout << table_text(rows, output_columns());
  if (of.speeds.empty())
    std::cout << "one rank has no link: start several, by mpirun -np N\n";
  else
    std::cout << fmt::format("measured: {}\n", runtime::text_of(of.links));
}

void print_json(const runtime::NeighbourSpeeds& of, int ranks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const runtime::LinkSpeed& link : of.speeds)
    list.push_back({{"from", link.from},
                    {"to", link.to},
                    {"latency_s", link.latency_s},
                    {"bytes_per_s", link.bytes_per_s}});
  std::cout << json_line(nlohmann::ordered_json{{"ranks", ranks},
                                                {"measured", runtime::name_of(of.links)},
                                                {"message_bytes", runtime::kLinkMessage},
                                                {"links", list}});
}

/// Prints, on rank 0, bandwidth and latency of every edge between the ranks of the job, on the
/// devices that trainer.device = `device` gives them.
int run_links(const std::string& device, bool json) {
  return runtime::run_job(
      [&](comm::Communicator& world) {
        const runtime::NeighbourSpeeds measured = runtime::neighbour_speeds(device, world);
        if (world.rank() == 0 && json) print_json(measured, world.size());
        if (world.rank() == 0 && !json) print(measured);
        return exit_done;
      },
      complain_in_job);
}

constexpr const char* kExamples =
    "Under mpirun each rank is a stage of a replica.\n\nExamples:\n"
    "  penstock bench ds2-tiny --batch 8 --seconds 4\n"
    "  mpirun -np 2 penstock bench ds2-small --batch 8 --seconds 4 --micro-batches 8 --json\n"
    "  mpirun -np 4 penstock bench ds2-small --micro-batches 8 --replicas 2\n"
    "  mpirun -np 4 penstock bench --links";

std::vector<std::string> schedules() {
  const auto names = partition::schedule_names();
  return {names.begin(), names.end()};
}

/// Adds --cut and --like. Their empty defaults stand for a choice that is made later, so the help
/// shows no value for them.
void add_cut_and_prediction(CLI::App& command, runtime::BenchOptions& o) {
  takes_whole(command.add_option(
                  "--cut", o.cut,
                  "First layer of each part of the model but the first. Default: the fastest cut"),
              {1, 100000})
      ->delimiter(',')
      ->default_str("");
  command
      .add_option("--like", o.like,
                  "A device file or a name in configs/devices/, by whose rates the step is "
                  "predicted. Default: cpu-avx2, or h100 where there is a GPU")
      ->type_name("DEVICE|FILE")
      ->default_str("");
}

}  // namespace

void add_bench(CLI::App& app, Run& run) {
  auto arguments = std::make_shared<BenchArguments>();
  runtime::BenchOptions& o = arguments->bench;
  CLI::App* command = app.add_subcommand("bench", "Time whole training steps on random features");
  CLI::Option* model =
      command->add_option("model", arguments->model, "A name in configs/models/, or a TOML file")
          ->type_name("MODEL|FILE");
  command
      ->add_flag("--links", arguments->links,
                 "Measure the links between the ranks instead: bandwidth and latency")
      ->excludes(model);
  command->option_defaults()->always_capture_default();
  takes_whole(command->add_option("--batch", o.utterances, "Utterances in each micro-batch"),
              {1, 4096});
  takes_number(
      command->add_option("--seconds", o.seconds,
                          "Length of the longest utterance. The shortest has half of it, and the "
                          "others lie evenly between."),
      {0.1, 3600});  // shorter ones have no frames after the convolutions
  takes_whole(command->add_option("--micro-batches", o.micro_batches, "Micro-batches of a step"),
              {1, 4096});
  takes_whole(command->add_option("--replicas", o.replicas, "Replicas of each stage"), {1, 4096});
  command->add_option("--device", o.device, "Where to compute, or between what to measure links")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  takes_whole(command->add_option("--threads", o.threads, "Threads of a rank on the CPU"),
              kThreads);
  takes_whole(command->add_option("--steps", o.steps, "Timed steps, after three steps of warm-up"),
              {1, 100000});
  command->add_option("--schedule", o.schedule, "Order of forward and backward passes")
      ->check(CLI::IsMember(schedules()));
  command->add_option("--precision", o.precision.compute, "Type of number that layers compute in")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  add_cut_and_prediction(*command, o);
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->footer(kExamples);
  // A model is needed unless --links is given, which excludes one.
  command->callback([arguments, &run] {
    if (!arguments->links && arguments->model.empty()) throw CLI::RequiredError("model");
    run = [arguments] {
      return arguments->links ? run_links(arguments->bench.device, arguments->json)
                              : run_bench(*arguments);
    };
  });
}

}  // namespace penstock::tools
