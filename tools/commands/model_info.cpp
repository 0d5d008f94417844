#include "tools/commands/model_info.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "base/quantities.h"
#include "base/table.h"
#include "configs/config_folder.h"
#include "configs/load.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "partition/layout/layer_figures.h"
#include "runtime/pipeline/session.h"
#include "tools/cli/process_end.h"
#include "tools/cli/terminal.h"

// The figures are those of the layers' own plans for one micro-batch of equal utterances: nothing
// is allocated or measured, so models of any size can be listed anywhere. Operations are divided by
// the seconds of audio, which makes them comparable between lengths; memory is that of the
// micro-batch.

namespace penstock::tools {
namespace {

using partition::LayerFigures;

double flops_of(const LayerFigures& layer) {
  return layer.flops.forward + layer.flops.backward_input + layer.flops.backward_weight;
}

struct Report {
  std::vector<LayerFigures> layers;
  LayerFigures total;
  double seconds = 0;  // of audio in the micro-batch
};

/// Plans the model's layers for equal utterances. Scratch memory is what the CPU needs.
Report report_of(const ModelInfoOptions& options) {
  const std::vector<std::string> base{"model.base=" + options.model,
                                      "precision.compute=" + options.precision};
  const configs::Config config = configs::load_config("", layers::model_families(), base);
  const partition::LayerSequence sequence = partition::build_model(
      config.model, options.labels.value_or(partition::labels_without_text(config.model)));
  const double rate = config.features.frames_per_second();
  const auto frames = static_cast<std::int64_t>(std::lround(options.seconds * rate));
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(options.utterances), frames);
  Report report;
  report.layers = partition::layer_figures(
      sequence, lengths, {layers::DeviceKind::cpu, runtime::compute_type(config.precision)});
  report.total = partition::total_of(report.layers);
  report.seconds = static_cast<double>(frames * options.utterances) / rate;
  return report;
}

nlohmann::ordered_json to_json(const LayerFigures& layer) {
  return {{"name", layer.name},
          {"parameters", layer.parameters},
          {"forward_flops", layer.flops.forward},
          {"backward_flops", layer.flops.backward_input + layer.flops.backward_weight},
          {"kept_bytes", layer.kept},
          {"scratch_bytes", layer.scratch}};
}

void print_json(const ModelInfoOptions& options, const Report& report) {
  nlohmann::ordered_json all = {{"model", options.model},
                                {"parameters", report.total.parameters},
                                {"flops_per_audio_second", flops_of(report.total) / report.seconds},
                                {"kept_bytes", report.total.kept},
                                {"scratch_bytes", report.total.scratch},
                                {"layers", nlohmann::ordered_json::array()}};
  for (const LayerFigures& layer : report.layers) all["layers"].push_back(to_json(layer));
  std::cout << json_line(all);
}

/// Returns name, parameters, 10^9 operations for a second of audio, and MiB of kept and scratch
/// memory.
std::vector<std::string> row_of(const LayerFigures& layer, double seconds) {
  return {layer.name, fmt::format("{}", layer.parameters),
          fmt::format("{:.3f}", flops_of(layer) / seconds / 1e9),
          fmt::format("{:.2f}", static_cast<double>(layer.kept) / 0x1p20),
          fmt::format("{:.2f}", static_cast<double>(layer.scratch) / 0x1p20)};
}

}  // namespace

// A bare name is a model only if no file or folder has that name, so a checkpoint in the working
// folder is never taken for one. Another name with a slash or a point is a path, which ends in
// .toml if it is a model's.
bool names_model(const std::string& path) {
  if (std::filesystem::path(path).extension() == ".toml") return true;
  if (std::filesystem::exists(path)) return false;
  return path.find_first_of("/.") == std::string::npos ||
         std::ranges::count(configs::model_names(), path) > 0;
}

int print_model(const ModelInfoOptions& options) {
  const Report report = report_of(options);
  if (options.json) {
    print_json(options, report);
    return exit_done;
  }
  std::vector<std::vector<std::string>> rows = {
      {"layer", "parameters", "GFLOP a second", "kept MiB", "CPU scratch MiB"}};
  for (const LayerFigures& layer : report.layers) rows.push_back(row_of(layer, report.seconds));
  LayerFigures total = report.total;
  total.name = "in all";
  rows.push_back(row_of(total, report.seconds));
  std::cout << table_text(rows, output_columns());
  std::cout << '\n'
            << output_line(fmt::format("for {} of {:g} s in {}: forward and backward, a second of "
                                       "audio; kept from forward to backward",
                                       counted(options.utterances, "utterance"), options.seconds,
                                       options.precision));
  return exit_done;
}

}  // namespace penstock::tools
