#include "runtime/huggingface/architecture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "configs/flatten.h"

// An architecture is a table, and all code about transformers works on these tables. A folder's
// model_type chooses it. Its list of classes then says whether the model has a head; a folder
// without the list is taken to have one. Types that penstock does not read are answered with the
// nearest one that it does, since a recipe for that may serve as well.

namespace penstock::runtime {
namespace {

std::string setting_text(const Settings& settings, std::string_view path) {
  const auto found = settings.find(path);
  return found == settings.end() ? "" : plain_text(found->second);
}

std::string known_types() {
  std::vector<std::string> types;
  for (const Architecture& known : architectures())
    types.push_back(fmt::format("{} ({})", known.model_type, known.name));
  return fmt::format("{}", fmt::join(types, ", "));
}

/// A model type that penstock does not read, and the nearest one that it reads.
struct Relative {
  std::string_view model_type, nearest, difference;
};

constexpr Relative kRelatives[] = {
    {"lasr_ctc", "parakeet_ctc", "a Conformer with relative positions"},
    {"wav2vec2-conformer", "parakeet_ctc", "a Conformer with relative positions, on log-mel"},
    {"wavlm", "wav2vec2", "without WavLM's gated positions in attention"},
    {"data2vec-audio", "wav2vec2", "with one convolution of positions instead of several"},
    {"unispeech", "wav2vec2", "the same encoder, trained otherwise"},
    {"unispeech-sat", "wav2vec2", "the same encoder, trained otherwise"},
    {"sew", "hubert", "without squeezing frames"},
    {"sew-d", "hubert", "without squeezing frames and disentangled attention"},
};

/// Describes the nearest relative of a type; "" if it has none.
std::string relative_hint(std::string_view type) {
  const auto* found = std::ranges::find(kRelatives, type, &Relative::model_type);
  if (found == std::end(kRelatives)) return "";
  return fmt::format(". Its nearest relative among them is {}: {}", found->nearest,
                     found->difference);
}

/// True if a JSON list of classes contains `name`.
bool names_class(const std::string& json, std::string_view name) {
  return json.find(quoted_json(name)) != std::string::npos;
}

std::string_view family_of(const Architecture& architecture) {
  return std::ranges::find(architecture.fixed, "model.kind", &FixedKey::ours)->value;
}

}  // namespace

std::vector<Architecture> architectures() {
  return {wav2vec2_for_ctc(),
          hubert_for_ctc(),
          omniasr_for_ctc(),
          omniasr_for_conditional_generation(),
          parakeet_for_ctc(),
          parakeet_for_rnnt(),
          parakeet_for_tdt(),
          wav2vec2_bert_for_ctc(),
          whisper_for_conditional_generation(),
          canary_for_conditional_generation(),
          cohere_asr_for_conditional_generation(),
          qwen3_asr_for_conditional_generation()};
}

Architecture architecture_of(const Settings& config, const std::string& where) {
  const std::string type = setting_text(config, "model_type");
  for (const Architecture& known : architectures()) {
    if (known.model_type != type) continue;
    const auto names = config.find("architectures");
    if (names == config.end() || names_class(names->second, known.name) ||
        find_headless(known, config))
      return known;
    std::vector<std::string_view> classes{known.name};
    for (const HeadlessClass& headless : known.headless) classes.push_back(headless.name);
    throw CheckpointError(fmt::format("{}: architectures is {}, but penstock reads {}", where,
                                      names->second, fmt::join(classes, ", ")));
  }
  throw CheckpointError(fmt::format("{}: model_type is \"{}\", but penstock reads {}{}", where,
                                    type, known_types(), relative_hint(type)));
}

std::optional<HeadlessClass> find_headless(const Architecture& architecture,
                                           const Settings& config) {
  const auto names = config.find("architectures");
  if (names == config.end() || names_class(names->second, architecture.name)) return std::nullopt;
  for (const HeadlessClass& headless : architecture.headless)
    if (names_class(names->second, headless.name)) return headless;
  return std::nullopt;
}

std::vector<Architecture> architectures_of_model(const configs::ModelConfig& model) {
  if (model.networks.ctc_weight > 0)
    throw ConfigError(fmt::format(
        "a {} that is trained beside CTC (decoder.ctc_weight = {}) has no counterpart in "
        "transformers, whose classes have one of both",
        model.decoder == "attention" ? "attention decoder" : "transducer",
        model.networks.ctc_weight));
  configs::Config config;
  config.model = model;
  if (configs::flatten(config)["model.self_conditioned_ctc"] == "true")
    throw ConfigError(
        "a model whose blocks read the labels of earlier ones (model.self_conditioned_ctc) has no "
        "counterpart in transformers");
  std::vector<Architecture> found = architectures();
  std::erase_if(found, [&](const Architecture& known) {
    return family_of(known) != model.family.name() || known.decoder != model.decoder;
  });
  if (!found.empty()) return found;
  throw ConfigError(fmt::format(
      "a model of model.kind = {}{} has no counterpart in transformers; penstock exports {}",
      model.family.name(),
      model.decoder == "ctc" ? "" : fmt::format(" with model.decoder = {}", model.decoder),
      known_types()));
}

}  // namespace penstock::runtime
