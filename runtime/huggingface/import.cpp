#include "runtime/huggingface/import.h"

#include <fmt/format.h>

#include <cstring>
#include <span>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "configs/flatten.h"
#include "runtime/checkpoint/coverage.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/file_names.h"
#include "runtime/huggingface/new_folder.h"
#include "runtime/huggingface/piece_model.h"
#include "runtime/huggingface/streams.h"
#include "runtime/huggingface/text_file.h"
#include "runtime/huggingface/token_text.h"
#include "runtime/huggingface/vocabulary.h"

namespace penstock::runtime {
namespace {

/// All that is known of a folder before its tensors are read.
struct ImportPlan {
  Architecture architecture;
  FolderSettings settings;
  std::int64_t rows = 0, blank = 0;  // of the head
  std::vector<std::string> tokens_beyond_head;
  TokenText tokens;
  std::string piece_model;  // empty: the text is of an alphabet
  std::string no_pieces;    // why it is, where it has tokens of several characters
  configs::Config config;
};

/// Pieces of tokenizer.model, or of tokenizer.json; or why there are none.
void plan_pieces(const std::filesystem::path& folder, const std::filesystem::path& checkpoint,
                 const Vocabulary& vocabulary, ImportPlan& plan) {
  auto model = find_piece_model(folder, vocabulary, plan.blank);
  try {
    if (!model)
      model = make_piece_model(folder, vocabulary, plan.blank, checkpoint / kTokenizerFile);
    plan.tokens.text = std::move(model->text);
    plan.piece_model = std::move(model->bytes);
  } catch (const CheckpointError& error) {
    plan.no_pieces = error.what();
  }
}

ImportPlan plan_import(const std::filesystem::path& folder,
                       const std::filesystem::path& checkpoint) {
  ImportPlan plan;
  plan.settings = read_folder(folder);
  const Settings& config = plan.settings.config;
  const auto& file = plan.settings.config_file;
  plan.architecture = architecture_of(config, file.string());
  plan.rows = whole_setting(config, "vocab_size", "null", file);
  plan.blank =
      whole_setting(config, plan.architecture.blank_setting, plan.architecture.blank, file);
  const bool pieces = plan.architecture.tokenizer == TokenizerKind::pieces ||
                      (!is_there(folder / kVocabulary) && is_there(folder / kTokenizer));
  const Vocabulary vocabulary =
      read_vocabulary(folder, {.kind = pieces ? TokenizerKind::pieces : TokenizerKind::characters,
                               .rows = plan.rows,
                               .blank = plan.blank,
                               .blank_setting = plan.architecture.blank_setting});
  plan.tokens_beyond_head = vocabulary.beyond;
  if (pieces) plan_pieces(folder, checkpoint, vocabulary, plan);
  if (plan.piece_model.empty()) plan.tokens = text_of_tokens(vocabulary, plan.blank);
  if (plan.tokens.replaced.empty()) plan.no_pieces.clear();
  plan.config = config_of(plan.architecture, plan.settings, plan.tokens.text);
  const configs::FeatureConfig& features = plan.config.features;
  if (features.kind == "log-mel" && features.mels != plan.config.model.features)
    throw_fault(
        plan.settings.features_file,
        fmt::format("feature_size is {}, but the model of config.json takes {} mel channels",
                    features.mels, plan.config.model.features));
  return plan;
}

/// Numbers that are kept, as FP32 where they are real ones.
StreamedTensor kept_tensor(const KeptTensor& kept, const WeightsFolder& weights) {
  StreamedTensor tensor{.name = kKeptTensors + kept.name, .dtype = kept.dtype, .shape = kept.shape};
  if (kept.dtype == layers::DType::i64) {
    tensor.ready = weights.bytes(kept.name);
    return tensor;
  }
  std::vector<float> numbers(static_cast<std::size_t>(layers::element_count(kept.shape)));
  weights.read(kept.name, 0, numbers);
  const auto bytes = std::as_bytes(std::span(numbers));
  tensor.ready.assign(bytes.begin(), bytes.end());
  return tensor;
}

ShardIndex write_weights(const std::filesystem::path& folder,
                         const std::vector<StreamedTensor>& tensors, const WeightsFolder& weights) {
  std::vector<CheckpointPiece> pieces;
  for (const StreamedTensor& tensor : tensors) {
    const layers::Tensor handle = tensor.handle();
    pieces.push_back({tensor.name, tensor.dtype, tensor.shape, 0, handle.size(), handle.data});
  }
  TensorStream stream([&](const std::string& source, std::int64_t begin, std::span<float> out) {
    weights.read(source, begin, out);
  });
  return write_shard(
      folder, "stage-0", pieces,
      [&](const layers::Tensor& handle, std::size_t begin) { return stream.bytes(handle, begin); });
}

std::vector<KeptFile> keep_files(const std::filesystem::path& from,
                                 const std::filesystem::path& checkpoint) {
  std::vector<KeptFile> kept;
  make_output(checkpoint / kKeptFolder);
  for (const char* name : kKeptFiles) {
    if (!is_there(from / name)) continue;
    const std::string text = text_of_file(from / name);
    const std::string file = fmt::format("{}/{}", kKeptFolder, name);
    write_durably(checkpoint / file, text);
    kept.push_back({file, text.size(), xxh3_128(text)});
  }
  return kept;
}

}  // namespace

ImportReport import_model(const std::filesystem::path& folder,
                          const std::filesystem::path& checkpoint) {
  const ImportPlan plan = plan_import(folder, checkpoint);
  const ModelTensors ours = model_tensors(plan.config.model, static_cast<int>(plan.rows));
  const Pairing pairing = pair_tensors(plan.architecture, plan.config.model, ours);
  const WeightsFolder weights(folder);
  const StoredNames stored = account(pairing, weights, folder);

  std::vector<StreamedTensor> tensors = our_tensors(pairing, ours, stored, plan.blank);
  ImportReport report{.architecture = std::string(plan.architecture.name),
                      .labels = static_cast<int>(plan.rows),
                      .without_letter = plan.tokens.replaced,
                      .beyond_head = plan.tokens_beyond_head,
                      .no_pieces = plan.no_pieces};
  for (const StreamedTensor& tensor : tensors) report.parameters += tensor.handle().size();
  for (const KeptTensor& kept : pairing.kept)
    if (stored.contains(kept.name)) {
      tensors.push_back(kept_tensor(kept, weights));
    } else if (kept.dtype == layers::DType::f32 && has_tensor(plan.settings.config, kept)) {
      report.without_numbers.push_back(kept.name);
    }

  NewFolder made(checkpoint);
  Manifest manifest;
  manifest.state.config = configs::flatten(plan.config);
  manifest.state.seed = plan.config.trainer.seed;
  manifest.shards = {write_weights(made.partial(), tensors, weights)};
  manifest.files = keep_files(folder, made.partial());
  if (!plan.piece_model.empty()) {
    write_durably(made.partial() / kTokenizerFile, plan.piece_model);
    manifest.state.tokenizer_hash = xxh3_128(plan.piece_model);
  }
  check_coverage(manifest.shards);
  write_durably(made.partial() / kManifestFile, to_text(manifest));
  made.commit();
  return report;
}

}  // namespace penstock::runtime
