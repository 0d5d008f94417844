#include "partition/layout/build_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/name_match.h"
#include "base/quantities.h"
#include "configs/rules.h"
#include "configs/schema.h"
#include "configs/text_rules.h"
#include "configs/value.h"
#include "layers/models/families.h"
#include "layers/models/intermediate_ctc_units.h"
#include "layers/models/lora.h"
#include "layers/models/rated_layer.h"
#include "layers/models/span_masks.h"
#include "partition/layout/recomputed_layers.h"

namespace penstock::partition {
namespace {

/// Returns the number of outputs of the last layer.
int outputs_of(const configs::ModelConfig& model, int labels) {
  return model.classes > 0 ? model.classes : labels;
}

/// Checks each value of [model] by the schema. A ModelConfig need not come from a file, so it may
/// be unchecked.
void check(const configs::ModelConfig& model, int labels) {
  configs::Config config;
  config.model = model;
  std::string faults;
  for (const Key& key : configs::keys(config)) {
    if (key.section() != "model" && key.section() != "decoder" && key.section() != "lora") continue;
    if (const auto fault = configs::set_value(key, configs::value_text(key.value)))
      faults += "\n  " + *fault;
  }
  if (labels < 2)
    faults += fmt::format("\n  {}, but blank and one more are needed", counted(labels, "label"));
  if (model.classes > 0 && labels > model.classes)
    faults += fmt::format(
        "\n  model.classes = {} has no room for the text's {}, blank included: set it to {} or "
        "more, or to 0 for as many as the text has",
        model.classes, counted(labels, "label"), labels);
  const int classes = outputs_of(model, labels);
  const auto expect_class = [&](std::string_view key, int id) {
    if (model.decoder_kind().reads(key) && id >= classes)
      faults += fmt::format(
          "\n  {} = {} is no class: there are {}, from 0 on (model.classes, or the text's labels)",
          key, id, classes);
  };
  expect_class("decoder.bos", model.networks.bos);
  expect_class("decoder.eos", model.networks.eos);
  for (const int id : model.networks.prefix) expect_class("decoder.prefix", id);
  for (const int id : model.networks.prompt) expect_class("decoder.prompt", id);
  for (const int id : model.networks.prompts) expect_class("decoder.prompts", id);
  for (const int id : model.networks.suppress) expect_class("decoder.suppress", id);
  for (const int id : model.networks.begin_suppress) expect_class("decoder.begin_suppress", id);
  if (!faults.empty()) throw ConfigError("no such model can be built:" + faults);
}

constexpr std::size_t kShownNames = 8;  // maximum number of names in an error

using Names = std::vector<std::vector<std::string>>;  // names of each layer's parameters

Names parameter_names(const LayerSequence& sequence) {
  Names names;
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, {})) {
    std::vector<std::string>& own = names.emplace_back();
    for (const layers::ParamDecl& p : plan.params) own.push_back(p.name);
  }
  return names;
}

/// Returns an error message if the pattern matches none of `names`, which are names of `kind`, or
/// "".
std::string fault_of(const std::string& glob, const char* key, const char* kind,
                     const Names& names) {
  std::vector<std::string_view> all;
  for (const std::vector<std::string>& own : names) all.insert(all.end(), own.begin(), own.end());
  if (std::ranges::any_of(all, [&](auto name) { return matches_glob(glob, name); })) return {};
  std::string plain = glob;
  std::erase_if(plain, [](char c) { return c == '*' || c == '?'; });
  // Names that share the longest possible prefix with the pattern.
  std::vector<std::string_view> near;
  for (std::string_view left = plain; !left.empty() && near.empty(); left.remove_suffix(1))
    std::ranges::copy_if(all, std::back_inserter(near),
                         [&](auto name) { return name.starts_with(left); });
  if (near.empty()) near = all;
  if (near.size() > kShownNames) near.resize(kShownNames);
  return fmt::format(
      "{} has the pattern \"{}\", which matches no {} of the model. Names near it: {}", key, glob,
      kind, fmt::join(near, ", "));
}

/// Returns the error messages of a list of patterns.
std::vector<std::string> faults_in(const std::vector<std::string>& patterns, const char* key,
                                   const char* kind, const Names& names) {
  std::vector<std::string> faults;
  for (const std::string& pattern : patterns)
    faults.push_back(fault_of(excludes(pattern) ? pattern.substr(1) : pattern, key, kind, names));
  if (!patterns.empty() && std::ranges::all_of(patterns, excludes))
    faults.push_back(fmt::format(
        "{} = [\"{}\"] selects nothing from which its patterns after a \"!\" could take {}s: "
        "begin it with a pattern such as \"*\"",
        key, fmt::join(patterns, "\", \""), kind));
  return faults;
}

void throw_unless_empty(std::vector<std::string> faults) {
  std::erase(faults, "");
  if (!faults.empty()) throw ConfigError(fmt::format("{}", fmt::join(faults, "\n")));
}

/// Returns true for the weight and the bias of an adapted layer. `own` has the names of the
/// parameters of the link of the sequence to which the layer belongs.
bool adapted(const std::string& name, const std::vector<std::string>& own) {
  const std::string adapter = fmt::format("{}{}", name.substr(0, name.rfind('.')), layers::kLoraA);
  return std::ranges::find(own, adapter) != own.end();
}

void check_patterns(const configs::OptimizerConfig& optimizer,
                    const std::vector<configs::RateFactor>& factors, const Names& names) {
  std::vector<std::string> faults =
      faults_in(optimizer.freeze, "optimizer.freeze", "parameter", names);
  for (const configs::RateFactor& f : factors)
    faults.push_back(fault_of(f.pattern, "optimizer.learning_rates", "parameter", names));
  throw_unless_empty(std::move(faults));
}

/// Adapts the layers that lora.targets names. ConfigError if a pattern names none.
void adapt(LayerSequence& sequence, const configs::LoraConfig& lora) {
  if (lora.rank == 0) return;
  const std::vector<std::string> names = layers::adaptable_layers(sequence.layers);
  throw_unless_empty(faults_in(lora.targets, "lora.targets", "linear layer", {names}));
  layers::adapt_layers(sequence.layers, {lora.rank, lora.alpha, lora.dropout},
                       [&](const std::string& name) { return selects(lora.targets, name); });
}

/// Throws ConfigError if lora.train names nothing, or weights that an adapter keeps frozen.
void check_trained_beside(const configs::LoraConfig& lora, const Names& names) {
  std::vector<std::string> faults = faults_in(lora.train, "lora.train", "parameter", names);
  for (const std::vector<std::string>& own : names)
    for (const std::string& name : own)
      if (adapted(name, own) && selects(lora.train, name))
        faults.push_back(fmt::format(
            "lora.train names {}, which has an adapter and stays frozen: leave its layer out of "
            "lora.targets, or out of lora.train",
            name));
  throw_unless_empty(std::move(faults));
}

/// Returns the factor on a parameter's learning rate: 0 if it is frozen, else that of the first
/// matching pattern, else 1. With adapters, all is frozen but these and what lora.train names.
double rate_of(const std::string& name, const configs::Config& config,
               const std::vector<configs::RateFactor>& factors) {
  const configs::LoraConfig& lora = config.model.lora;
  if (selects(config.optimizer.freeze, name)) return 0;
  if (lora.rank > 0 && !layers::is_lora_parameter(name) && !selects(lora.train, name)) return 0;
  for (const configs::RateFactor& f : factors)
    if (matches_glob(f.pattern, name)) return f.factor;
  return 1;
}

/// Throws ConfigError if the recipe's patterns treat a tied parameter other than its owner.
void check_tied_rates(const LayerSequence& sequence, const configs::Config& config,
                      const std::vector<configs::RateFactor>& factors) {
  for (const layers::LayerPlan& plan : plan_without_frames(sequence, {}))
    for (const layers::ParamDecl& p : plan.params) {
      const double own = rate_of(p.name, config, factors),
                   owner = rate_of(p.saved_name(), config, factors);
      if (own != owner)
        throw ConfigError(fmt::format(
            "{} has the values of {}, but optimizer.freeze, optimizer.learning_rates or lora.train "
            "give them factors of {:g} and {:g}: name both, or neither",
            p.name, p.tied_to, own, owner));
    }
}

}  // namespace

int labels_without_text(const configs::ModelConfig& model) {
  if (model.classes > 0) return model.classes;
  return static_cast<int>(configs::alphabet_characters({}).size()) + 1;
}

LayerSequence build_model(const configs::ModelConfig& model, int labels,
                          const configs::PipelineConfig& pipeline) {
  check(model, labels);
  LayerSequence sequence{
      layers::build_layers(model.family, {model.features, outputs_of(model, labels), model.loss()}),
      model.features};
  adapt(sequence, model.lora);
  if (pipeline.recompute == kSelective) layers::recompute_cheap_parts(sequence.layers);
  return sequence;
}

std::string model_summary(const configs::ModelConfig& model, int labels) {
  configs::Config config;
  config.model = model;
  const layers::DecoderKind decoder = model.decoder_kind();
  std::string summary;
  for (const Key& key : configs::keys(config)) {
    if (key.section() != "model" && !decoder.reads(key.name)) continue;
    // Plans and profiles from before there were masks still suit models without them, and lengths
    // of masks cost nothing.
    if (layers::is_key_of_masks(key.name) &&
        (!key.name.ends_with("_prob") || configs::value_text(key.value) == "0"))
      continue;
    // The same holds for losses after blocks, whose weight costs nothing.
    if (layers::is_intermediate_key(key.name) &&
        (key.name.ends_with("_weight") || configs::value_text(key.value) == "[]" ||
         configs::value_text(key.value) == "false"))
      continue;
    // Plans and profiles from before there was this key still suit models without it.
    if (key.name == "decoder.ctc_weight" && model.networks.ctc_weight == 0) continue;
    if (key.name == "decoder.smoothing" && model.decoder == "ctc") continue;
    if (key.name == "model.base" || key.name == "model.classes") continue;
    // Texts alone depend on these.
    if (key.name == "decoder.suppress" || key.name == "decoder.begin_suppress") continue;
    // Plans and profiles from before there were other decoders still suit CTC.
    if (key.name == "model.decoder" && model.decoder == "ctc") continue;
    const bool own = key.section() == "model";
    summary += fmt::format("{}={} ", own ? key.leaf() : key.name, configs::value_text(key.value));
  }
  // Plans and profiles for adapters do not suit the same model without them.
  if (model.lora.rank > 0)
    summary += fmt::format("lora.rank={} lora.targets={} ", model.lora.rank,
                           fmt::join(model.lora.targets, ","));
  return summary + fmt::format("labels={}", outputs_of(model, labels));
}

// Rates follow from the names of parameters: the first pattern that matches holds, and freezing
// counts before rates. A layer that has no trained layer before it needs no gradient of its input,
// so the layers are visited from the first on. Without patterns the model stays as it is built. A
// pattern that matches nothing is most likely misspelt, and would train or freeze the wrong layers
// in silence. So it is an error, which names parameters with the longest common beginning.
LayerSequence build_trained_model(const configs::Config& config, int labels) {
  const configs::OptimizerConfig& optimizer = config.optimizer;
  const configs::LoraConfig& lora = config.model.lora;
  LayerSequence sequence = build_model(config.model, labels, config.pipeline);
  if (optimizer.freeze.empty() && optimizer.learning_rates.empty() && lora.rank == 0)
    return sequence;
  const Names names = parameter_names(sequence);
  const std::vector<configs::RateFactor> factors = configs::rate_factors(optimizer);
  check_patterns(optimizer, factors, names);
  check_trained_beside(lora, names);
  check_tied_rates(sequence, config, factors);
  bool trained = false;
  const std::vector<layers::LayerPlan> plans = plan_without_frames(sequence, {});
  for (std::size_t i = 0; i < names.size(); ++i) {
    layers::RatedLayer::Rates rates{{}, trained};
    for (const layers::ParamDecl& p : plans[i].params)  // some layers never train theirs
      rates.of_parameters.push_back(p.frozen() ? 0 : rate_of(p.name, config, factors));
    trained = trained || std::ranges::any_of(rates.of_parameters, [](double r) { return r > 0; });
    layers::rate_layer(sequence.layers[i], std::move(rates));
  }
  if (!trained)
    throw ConfigError(
        "optimizer.freeze and [lora] freeze every parameter of the model: leave at least one to "
        "train");
  return sequence;
}

LayerSequence build_frozen_model(const configs::ModelConfig& model, int labels) {
  LayerSequence sequence = build_model(model, labels);
  const Names names = parameter_names(sequence);
  for (std::size_t i = 0; i < names.size(); ++i)
    layers::rate_layer(sequence.layers[i], {std::vector<double>(names[i].size(), 0), false});
  return sequence;
}

}  // namespace penstock::partition
