#include "runtime/huggingface/export.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/atomic_file.h"
#include "layers/models/intermediate_ctc_units.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/open_checkpoint.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/export_source.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/streams.h"
#include "runtime/huggingface/suppressed_tokens.h"
#include "runtime/huggingface/weights_writer.h"

// An export has two sources. A model that was imported gives its own files back, with the settings
// that training has changed; one that was trained here has its files made from the architecture's
// tables. The weights are the same in both cases: the pairing says which rows and columns of
// penstock's tensors make each of theirs, and they are streamed from the checkpoint, in parts, to
// files of bounded size. Adapters are added to their weights on the way.
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

/// Writes the files of an export.
class Exporter {
 public:
  Exporter(const Checkpoint& checkpoint, const ExportOptions& options)
      : source_(checkpoint), options_(options) {}

  ExportReport write(const std::filesystem::path& folder) const {
    if (source_.imported) {
      write_durably(folder / kModelConfig, text_with_settings(*source_.imported, config_changes()));
      restore_files(folder);
      write_changed_suppression(folder);
    } else {
      Settings settings = source_.settings;
      settings["dtype"] = dtype_setting(options_.dtype);
      write_durably(folder / kModelConfig, to_json_text(settings));
      write_durably(folder / kPreprocessorConfig, to_json_text(source_.features));
    }
    if (!source_.gives_labels_back) {
      source_.write_labels(folder);
      const Settings generation =
          generation_settings(source_.architecture, source_.config, source_.rows, source_.blank);
      if (!generation.empty()) write_durably(folder / kGenerationConfig, to_json_text(generation));
    }
    ExportReport report{.architecture = std::string(source_.architecture.name),
                        .merged = static_cast<int>(source_.updates.size())};
    for (const auto& [name, shape] : source_.ours)
      if (!layers::is_unused_in_evaluation(name)) report.parameters += layers::element_count(shape);
    report.files = write_weight_files(folder, source_.tensors(options_.dtype), options_.shard_bytes,
                                      source_.merged_reader(options_.averages));
    write_language(folder);
    return report;
  }

 private:
  // The type of the numbers has an earlier name, torch_dtype, which a folder that has it keeps.
  Settings config_changes() const {
    Settings changes;
    if (source_.trained()) {
      changes = model_changes(source_.architecture, source_.config, source_.settings);
      if (!source_.gives_labels_back)
        for (const auto& [name, value] :
             label_settings(source_.architecture, source_.config, source_.rows, source_.blank))
          changes[name] = value;
    }
    const bool former = source_.settings.contains("torch_dtype");
    if (former) changes["torch_dtype"] = dtype_setting(options_.dtype);
    if (!former || source_.settings.contains("dtype"))
      changes["dtype"] = dtype_setting(options_.dtype);
    return changes;
  }

  void restore_files(const std::filesystem::path& folder) const {
    for (const KeptFile& kept : source_.checkpoint.files()) {
      const std::filesystem::path file = source_.checkpoint.folder() / kept.file;
      const std::filesystem::path name = file.filename();
      if (name == kModelConfig || (says_labels(kept.file) && !source_.gives_labels_back)) continue;
      write_durably(folder / name,
                    source_.trained() ? text_with_changes(file) : text_of_file(file));
    }
    const std::filesystem::path pieces = source_.checkpoint.tokenizer_file();
    if (!pieces.empty() && source_.gives_labels_back && source_.config.text.kind != "bpe")
      write_durably(folder / kTokenizerFile, text_of_file(pieces));
  }

  /// Writes generation_config.json for changed lists of suppressed tokens if the folder had none.
  /// The ids at the ends of texts come from config.json, because transformers does not read them
  /// there once that file exists.
  void write_changed_suppression(const std::filesystem::path& folder) const {
    if (!source_.trained() || !source_.gives_labels_back ||
        source_.architecture.decoder != "attention" || is_there(folder / kGenerationConfig))
      return;
    Settings theirs = source_.settings;
    theirs.emplace("begin_suppress_tokens", source_.architecture.begin_suppressed);
    const LabelRows head{source_.rows, source_.blank};
    const layers::DecoderOptions& decoder = source_.config.model.networks;
    if (suppression_changes(decoder, head, theirs).empty()) return;
    Settings generation = suppression_settings(decoder, head);
    for (const auto& [name, value] :
         generation_settings(source_.architecture, source_.config, source_.rows, source_.blank)) {
      const auto found = theirs.find(name);
      generation.emplace(name, found == theirs.end() ? value : found->second);
    }
    write_durably(folder / kGenerationConfig, to_json_text(generation));
  }

  /// Writes the adapters and the head a second time, to the language's own file (MMS).
  void write_language(const std::filesystem::path& folder) const {
    const std::filesystem::path tokenizer = folder / kTokenizerConfig;
    if (!source_.gives_labels_back || !is_there(tokenizer)) return;
    const Settings settings = read_settings(tokenizer);
    const auto language = settings.find("target_lang");
    if (language == settings.end() || language->second == "null") return;
    std::vector<StreamedTensor> own = their_tensors(source_.pairing, source_.blank, options_.dtype);
    std::erase_if(own, [](const StreamedTensor& tensor) {
      return tensor.name.find(".adapter_layer.") == std::string::npos &&
             !tensor.name.starts_with("lm_head.");
    });
    const std::string file = language_file_name(plain_text(language->second));
    write_weight_file(folder / file, own, source_.merged_reader(options_.averages));
  }

  /// Returns a kept file with the recipe's values, if any of its settings are keys.
  std::string text_with_changes(const std::filesystem::path& file) const {
    const std::filesystem::path name = file.filename();
    if (name == kPreprocessorConfig || name == kProcessorConfig) return text_of_features(file);
    if (name != kGenerationConfig) return text_of_file(file);
    const Settings theirs = read_settings(file);
    Settings changes = generation_changes(source_.architecture, source_.config, theirs);
    if (source_.architecture.decoder == "attention")
      changes.merge(suppression_changes(source_.config.model.networks,
                                        {source_.rows, source_.blank}, theirs));
    return changes.empty() ? text_of_file(file) : text_with_settings(file, changes);
  }

  /// Returns a file of feature settings with the recipe's values.
  std::string text_of_features(const std::filesystem::path& file) const {
    const bool alone = file.filename() == kPreprocessorConfig;
    const Settings theirs = alone ? read_settings(file) : settings_within_processor(file);
    Settings changes;
    if (alone || !theirs.empty())
      for (const auto& [key, value] : feature_changes(source_.architecture, source_.config, theirs))
        changes.emplace(alone ? key : kWithinProcessor + key, value);
    return changes.empty() ? text_of_file(file) : text_with_settings(file, changes);
  }

  ExportSource source_;
  ExportOptions options_;
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
