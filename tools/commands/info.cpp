#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "base/table.h"
#include "runtime/checkpoint/describe.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/checkpoint/remote/local_checkpoint.h"
#include "runtime/data/remote/remote_url.h"
#include "runtime/job/consistency.h"
#include "runtime/job/job.h"
#include "tools/cli/launch.h"
#include "tools/cli/options.h"
#include "tools/cli/process_end.h"
#include "tools/cli/recipe.h"
#include "tools/cli/terminal.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_info.h"

// One command describes three things, a model, a checkpoint or a file of weights, and its argument
// decides. Options that belong to another of these are refused rather than ignored. Rank 0 decides
// for all, because verifying a checkpoint is shared by all ranks, which must take part or not.
//
// Nothing is written, by any of the three. Exit code 4: a checkpoint or file is damaged or can't be
// read. Exit code 2: an option does not belong to what the path names, or there is no such model.

namespace penstock::tools {
namespace {

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

std::string block_text(const runtime::TensorPlace& tensor) {
  if (!tensor.first) return "whole";
  return fmt::format("{}–{}", *tensor.first, *tensor.last);
}

/// Formats a description. "elements" is there for a block of a tensor that is split into several,
/// and "bytes" are the first and one past the last in its file.
nlohmann::ordered_json to_json(const std::string& path, const runtime::Description& description) {
  nlohmann::ordered_json report = {{"path", path}};
  if (description.state) {
    report["step"] = description.state->step;
    report["epoch"] = description.state->epoch;
    report["config"] = description.state->config;
    report["corrections"] = nlohmann::ordered_json::array();
    for (const runtime::Correction& c : description.state->corrections)
      report["corrections"].push_back(
          {{"step", c.step}, {"key", c.key}, {"before", c.before}, {"after", c.after}});
    report["averaged"] = nlohmann::ordered_json::array();
    for (const runtime::AveragedCheckpoint& each : description.state->averaged)
      report["averaged"].push_back({{"step", each.step}, {"folder", each.folder}});
  }
  report["tensors"] = nlohmann::ordered_json::array();
  for (const runtime::TensorPlace& tensor : description.tensors) {
    nlohmann::ordered_json entry = {
        {"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}};
    if (tensor.first) entry["elements"] = {*tensor.first, *tensor.last};
    entry["file"] = tensor.file.string();
    entry["bytes"] = {tensor.begin, tensor.end};
    report["tensors"].push_back(std::move(entry));
  }
  return report;
}

void print(const runtime::Description& description) {
  if (description.state) {
    std::cout << fmt::format("checkpoint of step {}, epoch {}\n", description.state->step,
                             description.state->epoch);
    for (const runtime::Correction& c : description.state->corrections)
      std::cout << fmt::format("from step {} on, {} = {}, which was {}\n", c.step, c.key, c.after,
                               c.before);
    for (const runtime::AveragedCheckpoint& each : description.state->averaged)
      std::cout << fmt::format("a mean with step {} of {}\n", each.step, each.folder);
    std::cout << '\n';
  }
  std::vector<std::vector<std::string>> rows = {
      {"tensor", "dtype", "shape", "elements", "bytes", "file", "from byte"}};
  for (const runtime::TensorPlace& tensor : description.tensors) {
    rows.push_back({tensor.name, tensor.dtype, shape_text(tensor.shape), block_text(tensor),
                    fmt::format("{}", tensor.end - tensor.begin), tensor.file.filename().string(),
                    fmt::format("{}", tensor.begin)});
  }
  std::cout << table_text(rows, output_columns());
}

constexpr const char *kModel = "model", *kCheckpoint = "checkpoint", *kFile = "file";

struct InfoOptions : ModelInfoOptions {
  runtime::Verified verified = runtime::Verified::all;  // for a checkpoint
};

/// Returns the kind of `path` as rank 0 sees it, since other ranks may not have the path.
std::string kind_of(comm::Communicator& world, const InfoOptions& options) {
  std::error_code ignored;  // opening the path reports the error
  std::string kind = kFile;
  if (names_model(options.model))
    kind = kModel;
  else if (options.recipe || runtime::is_remote_url(options.model) ||
           std::filesystem::is_directory(options.model, ignored))
    kind = kCheckpoint;
  return runtime::broadcast_text(world, kind);
}

/// Opens the checkpoint. With Verified::all, all ranks verify it first, each a share.
std::optional<runtime::Checkpoint> open(comm::Communicator& world, const InfoOptions& options) {
  // Without the full check only rank 0 opens the checkpoint, as the others would have nothing to
  // do.
  if (options.verified == runtime::Verified::all)
    return runtime::open_together(world, options.model);
  if (world.rank() != 0) return std::nullopt;
  return runtime::Checkpoint(runtime::local_checkpoint(options.model),
                             runtime::OpenShards::as_read);
}

/// Prints the tensors, or the recipe, of a checkpoint. `checkpoint` is empty if the path is a
/// file's.
void list_weights(const std::optional<runtime::Checkpoint>& checkpoint,
                  const InfoOptions& options) {
  if (options.recipe) {
    std::cout << saved_recipe_text(*checkpoint, options.model);
    return;
  }
  const runtime::Description description =
      checkpoint ? runtime::describe(*checkpoint) : runtime::describe_file(options.model);
  if (options.json) {
    std::cout << json_line(to_json(options.model, description));
  } else {
    print(description);
  }
}

/// Runs the command for a model or for weights. `options.model` is the path on the command line.
int info(comm::Communicator& world, const CLI::App& command, const InfoOptions& options) {
  const std::string kind = kind_of(world, options);
  const bool leads = world.rank() == 0;
  if (kind == kModel) {
    if (!leads) return exit_done;
    require_absent(command, {"--recipe", "--verify"}, "a checkpoint");
    return print_model(options);
  }
  if (leads)
    require_absent(command, {"--labels", "--batch", "--seconds", "--precision"}, "a model");
  std::optional<runtime::Checkpoint> checkpoint;
  if (kind == kCheckpoint) checkpoint = open(world, options);
  if (leads) list_weights(checkpoint, options);
  return exit_done;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand(
      "info", "List the tensors of a checkpoint or a safetensors file, or a model's layers");
  command
      ->add_option(
          "path", options->model,
          "A checkpoint's folder, an output folder, a URL of one, or a safetensors file; or a "
          "model: a name in configs/models/, or a TOML file")
      ->type_name("FILE|MODEL")
      ->required();
  command->option_defaults()->always_capture_default();
  takes_whole(command->add_option("--labels", options->labels,
                                  "Of a model: labels, with blank [model.classes, or 29]"),
              {2, 1000000});
  takes_whole(command->add_option("--batch", options->utterances,
                                  "Of a model: utterances in a micro-batch"),
              {1, 4096});
  takes_number(
      command->add_option("--seconds", options->seconds, "Of a model: length of each utterance"),
      {0.1, 3600});
  command
      ->add_option("--precision", options->precision,
                   "Of a model: type of number that layers compute in")
      ->check(CLI::IsMember({"fp32", "tf32", "fp16", "bf16"}));
  CLI::Option* recipe =
      command->add_flag("--recipe", options->recipe,
                        "Of a checkpoint: print a recipe that starts from its weights, as TOML");
  takes_verified(command, options->verified);
  command->add_flag("--json", options->json, "Print one JSON object")->excludes(recipe);
  command->footer(
      "Every byte of a checkpoint is verified first; with --verify read, its manifest alone.\n"
      "Under mpirun any number of ranks share the bytes. Exit code 4: the checkpoint is "
      "damaged.\n\n"
      "Examples:\n"
      "  penstock info outputs/quickstart\n"
      "  penstock info outputs/omni-300m --recipe > tuned.toml\n"
      "  penstock info model.safetensors --json\n"
      "  penstock info conformer-l --seconds 15");
  command->callback([command, options, &run] {
    run = [command, options] {
      return runtime::run_job(
          [&](comm::Communicator& world) { return info(world, *command, *options); },
          complain_in_job);
    };
  });
}

}  // namespace penstock::tools
