#include "runtime/huggingface/export.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/atomic_file.h"
#include "configs/flatten.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/streams.h"
#include "runtime/huggingface/weights_writer.h"
#include "runtime/huggingface/write_tokenizer.h"

// An export has two sources. A model that was imported gives its own files back, with the settings
// that training has changed; one that was trained here has its files made from the architecture's
// tables. The weights are the same in both cases: the pairing says which rows and columns of
// penstock's tensors make each of theirs, and they are streamed from the checkpoint, in parts, to
// files of bounded size.
//
// Labels are given back only if they are the imported ones and the head still has a row for each.
// Then the blank keeps its row. Otherwise the tokenizer is written anew, and the blank is where the
// architecture has it.
//
// Everything is checked before the folder is made, and the folder gets its name when it is
// complete.

namespace penstock::runtime {
namespace {

/// Returns the name of the numeric type in config.json.
std::string dtype_setting(layers::DType dtype) {
  if (dtype == layers::DType::f16) return quoted_json("float16");
  return quoted_json(dtype == layers::DType::bf16 ? "bfloat16" : "float32");
}

/// Returns the config.json of the imported model, if the checkpoint comes from one.
std::optional<std::filesystem::path> kept_config(const Checkpoint& checkpoint) {
  const std::string file = fmt::format("{}/{}", kKeptFolder, kModelConfig);
  if (std::ranges::find(checkpoint.files(), file, &KeptFile::file) == checkpoint.files().end())
    return std::nullopt;
  return checkpoint.folder() / file;
}

/// Returns the imported architecture. Without an import, returns the architecture of the model's
/// family whose fixed keys differ least, and the usual one among equals. Reads no tensors. Throws
/// ConfigError if transformers has no such model.
Architecture exported_architecture(const configs::Config& config,
                                   const std::optional<std::filesystem::path>& imported) {
  if (config.model.lora.rank > 0)
    throw ConfigError(fmt::format(
        "the checkpoint has LoRA adapters (lora.rank = {}), for which a model of transformers has "
        "no place: penstock export --weights writes them beside the weights",
        config.model.lora.rank));
  const std::vector<Architecture> known = architectures_of_family(config.model.family.name());
  const auto nearest = std::ranges::min_element(
      known, {}, [&](const Architecture& one) { return count_differences(one, config); });
  Architecture architecture =
      imported ? architecture_of(read_settings(*imported), imported->string()) : *nearest;
  check_fixed(architecture, config);
  return architecture;
}

/// Prepares an export: everything is determined before the first file is written.
class Exporter {
 public:
  Exporter(const Checkpoint& checkpoint, const ExportOptions& options)
      : checkpoint_(checkpoint),
        options_(options),
        config_(configs::unflatten(checkpoint.state().config, checkpoint.folder().string(),
                                   layers::model_families())),
        kept_config_(kept_config(checkpoint)),
        architecture_(exported_architecture(config_, kept_config_)),
        rows_(checkpoint.tensor("output.bias").shape.front()),
        ours_(model_tensors(config_.model, static_cast<int>(rows_))),
        pairing_(pair_tensors(architecture_, config_.model, ours_)) {
    blank_ = architecture_.blank_last ? rows_ - 1 : 0;
    if (kept_config_) {
      settings_ = read_settings(*kept_config_);
      const auto vocabulary = whole_setting(settings_, "vocab_size", "null", *kept_config_);
      gives_labels_back_ = keeps_labels(checkpoint) && rows_ == vocabulary;
      if (gives_labels_back_)
        blank_ = whole_setting(settings_, architecture_.blank_setting, architecture_.blank,
                               *kept_config_);
    } else {
      features_ = feature_settings(architecture_, config_);
      settings_ = model_settings(architecture_, config_, rows_, blank_);
    }
    for (const auto& [name, shape] : ours_) expect_floats(checkpoint, name, shape);
  }

  ExportReport write(const std::filesystem::path& folder) const {
    if (kept_config_) {
      write_durably(folder / kModelConfig, text_with_settings(*kept_config_, config_changes()));
      restore_files(folder);
    } else {
      Settings settings = settings_;
      settings["dtype"] = dtype_setting(options_.dtype);
      write_durably(folder / kModelConfig, to_json_text(settings));
      write_durably(folder / kPreprocessorConfig, to_json_text(features_));
    }
    if (!gives_labels_back_) write_labels(folder);
    ExportReport report{.architecture = std::string(architecture_.name)};
    for (const auto& [name, shape] : ours_) report.parameters += layers::element_count(shape);
    report.files = write_weight_files(folder, streams(), options_.shard_bytes,
                                      weights_reader(checkpoint_, options_.averages));
    write_language(folder);
    return report;
  }

 private:
  void write_labels(const std::filesystem::path& folder) const {
    const std::filesystem::path pieces = checkpoint_.tokenizer_file();
    if (pieces.empty()) {
      write_tokenizer(folder, architecture_, config_.text, {rows_, blank_});
    } else {
      write_piece_tokenizer(folder, text_of_file(pieces), {rows_, blank_});
    }
  }

  /// True if the checkpoint was trained. Before training, the imported files are still correct;
  /// after it, settings may have changed.
  bool trained() const { return checkpoint_.state().step > 0; }

  // The type of the numbers has an earlier name, torch_dtype, which a folder that has it keeps.
  Settings config_changes() const {
    Settings changes;
    if (trained()) {
      changes = model_changes(architecture_, config_, settings_);
      changes["vocab_size"] = fmt::format("{}", rows_);
      changes[std::string(architecture_.blank_setting)] = fmt::format("{}", blank_);
      if (!gives_labels_back_) changes["pad_token_id"] = fmt::format("{}", blank_);
    }
    const bool former = settings_.contains("torch_dtype");
    if (former) changes["torch_dtype"] = dtype_setting(options_.dtype);
    if (!former || settings_.contains("dtype")) changes["dtype"] = dtype_setting(options_.dtype);
    return changes;
  }

  void restore_files(const std::filesystem::path& folder) const {
    for (const KeptFile& kept : checkpoint_.files()) {
      const std::filesystem::path file = checkpoint_.folder() / kept.file;
      const std::filesystem::path name = file.filename();
      if (name == kModelConfig || (says_labels(kept.file) && !gives_labels_back_)) continue;
      const bool features = name == kPreprocessorConfig || name == kProcessorConfig;
      write_durably(folder / name,
                    features && trained() ? text_of_features(file) : text_of_file(file));
    }
    const std::filesystem::path pieces = checkpoint_.tokenizer_file();
    if (!pieces.empty() && gives_labels_back_)
      write_durably(folder / kTokenizerFile, text_of_file(pieces));
  }

  /// Writes the adapters and the head a second time, to the language's own file (MMS).
  void write_language(const std::filesystem::path& folder) const {
    const std::filesystem::path tokenizer = folder / kTokenizerConfig;
    if (!gives_labels_back_ || !is_there(tokenizer)) return;
    const Settings settings = read_settings(tokenizer);
    const auto language = settings.find("target_lang");
    if (language == settings.end() || language->second == "null") return;
    std::vector<StreamedTensor> own = their_tensors(pairing_, blank_, options_.dtype);
    std::erase_if(own, [](const StreamedTensor& tensor) {
      return tensor.name.find(".adapter_layer.") == std::string::npos &&
             !tensor.name.starts_with("lm_head.");
    });
    const std::string file = language_file_name(plain_text(language->second));
    write_weight_file(folder / file, own, weights_reader(checkpoint_, options_.averages));
  }

  /// Returns a file of feature settings with the recipe's values.
  std::string text_of_features(const std::filesystem::path& file) const {
    const bool alone = file.filename() == kPreprocessorConfig;
    const Settings theirs = alone ? read_settings(file) : settings_within_processor(file);
    Settings changes;
    if (alone || !theirs.empty())
      for (const auto& [key, value] : feature_changes(architecture_, config_, theirs))
        changes.emplace(alone ? key : kWithinProcessor + key, value);
    return changes.empty() ? text_of_file(file) : text_with_settings(file, changes);
  }

  // A kept tensor that the model must have, but that the import did not find, is written as zeros.
  std::vector<StreamedTensor> streams() const {
    std::vector<StreamedTensor> streams = their_tensors(pairing_, blank_, options_.dtype);
    for (const KeptTensor& kept : pairing_.kept) {
      const std::string stored = kKeptTensors + kept.name;
      const bool there = checkpoint_.contains(stored);
      if (!there && !has_tensor(settings_, kept)) continue;
      StreamedTensor& tensor = streams.emplace_back();
      tensor.name = kept.name;
      tensor.dtype = kept.dtype;
      tensor.shape = kept.shape;
      tensor.ready.resize(tensor.handle().bytes());  // zeros
      if (there)
        checkpoint_.read(stored, 0, layers::element_count(kept.shape), std::span(tensor.ready));
    }
    return streams;
  }

  const Checkpoint& checkpoint_;
  ExportOptions options_;
  configs::Config config_;
  std::optional<std::filesystem::path> kept_config_;
  Architecture architecture_;
  std::int64_t rows_ = 0, blank_ = 0;  // the head's
  ModelTensors ours_;
  Pairing pairing_;
  bool gives_labels_back_ = false;  // the imported labels are still valid, one per row of the head
  Settings settings_, features_;
};

}  // namespace

ExportReport export_model(const std::filesystem::path& checkpoint,
                          const std::filesystem::path& folder, const ExportOptions& options) {
  const Checkpoint opened = open_checkpoint(checkpoint);
  refuse_within(opened.folder(), folder);
  const Exporter exporter(opened, options);
  NewFolder made(folder);
  ExportReport report = exporter.write(made.partial());
  made.commit();
  return report;
}

}  // namespace penstock::runtime
