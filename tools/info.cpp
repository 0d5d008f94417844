#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <nlohmann/json.hpp>

#include "runtime/checkpoint/describe.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/json_line.h"
#include "tools/launch.h"
#include "tools/table.h"

namespace penstock::tools {
namespace {

struct InfoOptions {
  std::string path;
  bool json = false;
};

std::string shape_text(const std::vector<std::uint64_t>& shape) {
  return shape.empty() ? "scalar" : fmt::format("{}", fmt::join(shape, "×"));
}

std::string block_text(const runtime::TensorPlace& tensor) {
  if (!tensor.first) return "whole";
  return fmt::format("{}–{}", *tensor.first, *tensor.last);
}

nlohmann::ordered_json to_json(const InfoOptions& options,
                               const runtime::Description& description) {
  nlohmann::ordered_json report = {{"path", options.path}};
  if (description.state) {
    report["step"] = description.state->step;
    report["epoch"] = description.state->epoch;
    report["config"] = description.state->config;
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
    std::cout << fmt::format("checkpoint of step {}, epoch {}\n\n", description.state->step,
                             description.state->epoch);
  }
  std::vector<std::vector<std::string>> rows = {
      {"tensor", "dtype", "shape", "elements", "bytes", "file", "from byte"}};
  for (const runtime::TensorPlace& tensor : description.tensors) {
    rows.push_back({tensor.name, tensor.dtype, shape_text(tensor.shape), block_text(tensor),
                    fmt::format("{}", tensor.end - tensor.begin), tensor.file.filename().string(),
                    fmt::format("{}", tensor.begin)});
  }
  std::cout << table_text(rows);
}

int info(const InfoOptions& options) {
  const runtime::Description description = runtime::describe(options.path);
  if (options.json) {
    std::cout << json_line(to_json(options, description));
  } else {
    print(description);
  }
  return exit_done;
}

}  // namespace

void add_info(CLI::App& app, Run& run) {
  const auto options = std::make_shared<InfoOptions>();
  CLI::App* command =
      app.add_subcommand("info", "List the tensors of a checkpoint or a safetensors file");
  command
      ->add_option("path", options->path,
                   "A checkpoint's folder, an output folder (its newest checkpoint), or a "
                   "safetensors file")
      ->required();
  command->add_flag("--json", options->json, "Print one JSON object");
  command->footer(
      "Every byte of a checkpoint is verified first. Exit code 4: the checkpoint is damaged.\n\n"
      "Examples:\n"
      "  penstock info outputs/quickstart\n"
      "  penstock info model.safetensors --json");
  command->callback([options, &run] { run = on_rank_0([options] { return info(*options); }); });
}

}  // namespace penstock::tools
