#include "runtime/onnx/export_onnx.h"

#include <fmt/format.h>

#include <memory>

#include "base/atomic_file.h"
#include "base/error.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "partition/layout/build_model.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/streams.h"
#include "runtime/onnx/feature_nodes.h"
#include "runtime/onnx/layer_graph.h"
#include "runtime/onnx/token_file.h"
#include "runtime/text/tokenizer.h"

// The graph follows from the recipe: the features of [features], then the layers that the trainer
// builds. All nodes are added before the folder is made, so options and layers without a form in
// ONNX are refused without a trace. Weights are read, and checked to be finite, while the file is
// written; after an error the unfinished folder is removed.

namespace penstock::runtime {
namespace {

/// Returns the recipe of a checkpoint, whose model has no adapters: they are read beside it.
configs::Config read_recipe(const Checkpoint& checkpoint) {
  configs::Config config = configs::unflatten(
      checkpoint.state().config, checkpoint.folder().string(), layers::model_families());
  if (const auto tokenizer = checkpoint.tokenizer_file(); !tokenizer.empty())
    config.text.model = tokenizer.string();
  config.model.lora = {};
  return config;
}

void check_options(const Checkpoint& checkpoint, const configs::Config& config,
                   const OnnxOptions& options) {
  if (config.model.decoder != "ctc")
    throw ConfigError(fmt::format(
        "{}: an ONNX model is written for CTC alone, and this one decodes by {} (model.decoder)",
        checkpoint.place().name(), config.model.decoder));
  if (options.level > 0 && config.features.kind == "waveform")
    throw ConfigError(fmt::format(
        "{}: features.kind = \"waveform\" brings every recording to one level: leave out --rms",
        checkpoint.place().name()));
}

ModelWeights weights_of_model(const Checkpoint& checkpoint, const configs::Config& config,
                              int labels, const OnnxOptions& options) {
  ModelTensors shapes = model_tensors(config.model, labels);
  for (const auto& [name, shape] : shapes) expect_floats(checkpoint, name, shape);
  const ReadElements read = weights_reader(checkpoint, options.averages);
  return {merging_reader(read, read, updates_of(checkpoint)), std::move(shapes)};
}

/// Adds all nodes from the samples to the logits.
void add_model(OnnxGraph& graph, const ModelWeights& weights, const configs::Config& config,
               int labels, const OnnxOptions& options) {
  graph.input({"x", {std::int64_t{1}, "samples"}});
  ValueName samples = graph.node("Squeeze", {"x", graph.integers({0})});
  constexpr double kSilence = 1e-10;  // variance of a recording that stays silent
  if (options.level > 0) samples = add_level(graph, samples, options.level, kSilence);
  LayerGraph target{.graph = graph, .weights = weights, .eight_bits = options.eight_bits};
  const ValueName logits = add_layers(target, partition::build_model(config.model, labels),
                                      add_features(graph, config.features, samples));
  graph.output(graph.node("Unsqueeze", {logits, graph.integers({0})}),
               {"logits", {std::int64_t{1}, "frames", std::int64_t{labels}}});
}

}  // namespace

OnnxReport export_onnx(const std::filesystem::path& checkpoint, const std::filesystem::path& folder,
                       const OnnxOptions& options) {
  const Checkpoint opened = open_checkpoint(checkpoint);
  refuse_within(opened.folder(), folder);
  const configs::Config config = read_recipe(opened);
  check_options(opened, config, options);
  const std::unique_ptr<const Tokenizer> tokenizer = make_tokenizer(config.text);
  const int labels = config.model.classes > 0 ? config.model.classes : tokenizer->labels();
  const ModelWeights weights = weights_of_model(opened, config, labels, options);
  OnnxGraph graph;
  add_model(graph, weights, config, labels, options);
  OnnxReport report{.file = options.eight_bits ? "model.int8.onnx" : "model.onnx",
                    .parameters = weights.numbers(),
                    .labels = labels,
                    .merged = static_cast<int>(updates_of(opened).size()),
                    .sample_rate = config.features.sample_rate,
                    .level_matters = options.level == 0 && level_matters(config.features)};
  NewFolder made(folder);
  report.files =
      write_model_file(made.partial() / report.file, graph,
                       {.metadata = {{"model_type", "omnilingual-asr"},
                                     {"sample_rate", fmt::format("{}", report.sample_rate)},
                                     {"vocab_size", fmt::format("{}", labels)},
                                     {"version", "1"},
                                     {"comment", std::string(config.model.family.name())}},
                        .max_bytes = options.max_bytes});
  write_durably(made.partial() / "tokens.txt", token_lines(tokenizer->vocabulary(), labels));
  made.commit();
  return report;
}

}  // namespace penstock::runtime
