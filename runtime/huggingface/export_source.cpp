#include "runtime/huggingface/export_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "configs/flatten.h"
#include "layers/models/families.h"
#include "runtime/huggingface/byte_pair_rows.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/low_rank_update.h"
#include "runtime/huggingface/model_proto.h"
#include "runtime/huggingface/write_tokenizer.h"
#include "runtime/text/byte_pairs/model.h"
#include "runtime/text/tokenizer.h"

// Labels are given back only if they are the imported ones and the head still has a row for each.
// Then the blank keeps its row. Otherwise the tokenizer is written anew, and the blank is where the
// architecture has it.

namespace penstock::runtime {
namespace {

/// Returns the config.json of the imported model, if the checkpoint comes from one with the same
/// decoder. A transducer that was trained from a CTC model's encoder has files of its own.
std::optional<std::filesystem::path> kept_config(const Checkpoint& checkpoint,
                                                 const configs::Config& config) {
  const std::string file = fmt::format("{}/{}", kKeptFolder, kModelConfig);
  if (std::ranges::find(checkpoint.files(), file, &KeptFile::file) == checkpoint.files().end())
    return std::nullopt;
  std::filesystem::path kept = checkpoint.folder() / file;
  if (architecture_of(read_settings(kept), kept.string()).decoder != config.model.decoder)
    return std::nullopt;
  return kept;
}

/// Returns the imported architecture. Without an import, returns the architecture of the model's
/// family and decoder whose fixed keys differ least, and the usual one among equals. Reads no
/// tensors. Throws ConfigError if transformers has no such model.
Architecture exported_architecture(const configs::Config& config,
                                   const std::optional<std::filesystem::path>& imported) {
  const std::vector<Architecture> known = architectures_of_model(config.model);
  const auto nearest = std::ranges::min_element(
      known, {}, [&](const Architecture& one) { return count_differences(one, config); });
  Architecture architecture =
      imported ? architecture_of(read_settings(*imported), imported->string()) : *nearest;
  check_fixed(architecture, config);
  return architecture;
}

/// Returns the recipe of a checkpoint, whose model has no adapters: they are read beside it.
configs::Config base_config(const Checkpoint& checkpoint) {
  configs::Config config = configs::unflatten(
      checkpoint.state().config, checkpoint.folder().string(), layers::model_families());
  config.model.lora = {};
  return config;
}

/// Returns the number of the head's rows, blank included: those of the first tensor of labels.
std::int64_t rows_of_head(const Checkpoint& checkpoint, const Architecture& architecture) {
  for (const RuleGroup& group : architecture.tensors)
    for (const TensorRule& rule : group.rules)
      if (rule.rows == Rows::labels)
        return checkpoint.tensor(fmt::format("{}.weight", rule.ours)).shape.front();
  throw std::logic_error(fmt::format("{} has no tensor of labels", architecture.name));
}

/// Throws ConfigError unless the last row of the head is no label, nor one of the decoder's tokens.
void check_last_row(const ExportSource& source) {
  const auto last = static_cast<int>(source.rows - 1);
  const layers::DecoderOptions& decoder = source.config.model.networks;
  const bool used = source.labels_of_text() > last || decoder.bos == last || decoder.eos == last ||
                    std::ranges::count(decoder.prompt, last) > 0 ||
                    std::ranges::count(decoder.prefix, last) > 0;
  if (used)
    throw ConfigError(fmt::format(
        "{} of transformers puts a token that no text has, {}, where frames are, but all {} have a "
        "meaning: train with model.classes = {} or more",
        source.architecture.name, source.architecture.free_row_setting,
        counted(source.rows, "class", "classes"), source.rows + 1));
}

}  // namespace

ExportSource::ExportSource(const Checkpoint& opened)
    : checkpoint(opened),
      config(base_config(opened)),
      imported(kept_config(opened, config)),
      architecture(exported_architecture(config, imported)),
      rows(rows_of_head(opened, architecture)),
      ours(model_tensors(config.model, static_cast<int>(rows))),
      pairing(pair_tensors(architecture, config.model, ours)),
      updates(updates_of(opened)) {
  blank = architecture.blank_last ? rows - 1 : 0;
  if (imported) {
    settings = read_settings(*imported);
    const auto vocabulary =
        whole_setting(settings, architecture.rows_setting, architecture.rows, *imported);
    gives_labels_back = keeps_labels(opened) && rows == vocabulary;
    if (gives_labels_back) blank = blank_row(architecture, settings, *imported);
  } else {
    features = feature_settings(architecture, config);
    settings = model_settings(architecture, config, rows, blank);
  }
  for (const auto& [name, shape] : ours) expect_floats(opened, name, shape);
  if (!gives_labels_back && !architecture.free_row_setting.empty()) check_last_row(*this);
}

// A kept number that the import did not find is written as 0.
std::vector<StreamedTensor> ExportSource::tensors(layers::DType dtype) const {
  std::vector<StreamedTensor> streams = their_tensors(pairing, blank, dtype);
  for (const std::string& kept : pairing.kept) {
    const std::string stored = kKeptTensors + kept;
    StreamedTensor& tensor = streams.emplace_back();
    tensor.name = kept;
    tensor.dtype = layers::DType::i64;
    tensor.ready.resize(tensor.handle().bytes());  // 0
    if (checkpoint.contains(stored)) checkpoint.read(stored, 0, 1, std::span(tensor.ready));
  }
  return streams;
}

ReadElements ExportSource::merged_reader(bool averages) const {
  const ReadElements read = weights_reader(checkpoint, averages);
  return merging_reader(read, read, updates);
}

int ExportSource::labels_of_text() const {
  const std::filesystem::path pieces = checkpoint.tokenizer_file();
  if (pieces.empty()) return make_tokenizer(config.text)->labels();
  if (config.text.kind == "bpe")
    return static_cast<int>(parse_byte_pairs(text_of_file(pieces)).tokens.size()) + 1;
  return static_cast<int>(parse_model_bytes(text_of_file(pieces)).pieces.size()) + 1;
}

void ExportSource::write_labels(const std::filesystem::path& folder) const {
  const std::filesystem::path pieces = checkpoint.tokenizer_file();
  HeadRows head{rows, blank, architecture.blank_token};
  if (architecture.writes_texts())
    head.ends = {config.model.networks.bos, config.model.networks.eos};
  if (pieces.empty()) {
    write_tokenizer(folder, architecture, config.text, head);
  } else if (config.text.kind == "bpe") {
    write_byte_pair_tokenizer(folder, text_of_file(pieces), head);
  } else {
    write_piece_tokenizer(folder, text_of_file(pieces), head);
  }
}

}  // namespace penstock::runtime
