#include "runtime/huggingface/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/atomic_file.h"
#include "base/error.h"
#include "base/quantities.h"
#include "configs/flatten.h"
#include "layers/initialise.h"
#include "runtime/checkpoint/fault.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/new_folder.h"
#include "runtime/checkpoint/output_folder.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "runtime/checkpoint/shard.h"
#include "runtime/data/audio/features.h"
#include "runtime/huggingface/adapter_stack.h"
#include "runtime/huggingface/byte_pair_rows.h"
#include "runtime/huggingface/chat_prompt.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/folder_files.h"
#include "runtime/huggingface/language_prompt.h"
#include "runtime/huggingface/peft_adapter.h"
#include "runtime/huggingface/piece_model.h"
#include "runtime/huggingface/settings.h"
#include "runtime/huggingface/streams.h"
#include "runtime/huggingface/suppressed_tokens.h"
#include "runtime/huggingface/token_text.h"
#include "runtime/huggingface/vocabulary.h"
#include "runtime/text/byte_pairs/model.h"
#include "runtime/text/tokenizer.h"

namespace penstock::runtime {
namespace {

/// Everything that an import determines before it reads tensors.
struct ImportPlan {
  Architecture architecture;
  std::optional<HeadlessClass> headless = {};  // class of the folder's model, if it has no head
  FolderSettings settings;
  std::int64_t rows = 0, blank = 0;  // the head's
  std::vector<std::string> tokens_beyond_head;
  std::string language;                    // if the folder has several; else empty
  std::vector<int> prompt;                 // rows of the prompt, which names the language
  std::vector<LanguageDecoder> languages;  // those with prompts of their own
  std::optional<ChatIds> chat;             // labels around the frames, of a model that chats
  std::filesystem::path language_file;     // weights of the chosen language
  TokenText tokens;
  std::string piece_model;  // empty: the text has an alphabet
  std::string no_pieces;    // why the text has no pieces, if it has tokens of several characters
  configs::Config config;
};

/// Takes the pieces of tokenizer.model, else of tokenizer.json. Records the reason if there are
/// none.
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
  } catch (const FileError& error) {
    plan.no_pieces = error.what();
  }
}

/// Determines the labels of a new head.
void plan_new_head(const std::filesystem::path& checkpoint, const configs::TextConfig& text,
                   ImportPlan& plan) {
  const std::unique_ptr<const Tokenizer> tokenizer = make_tokenizer(text);
  plan.rows = tokenizer->labels();
  plan.tokens.text = text;
  plan.piece_model = tokenizer->model();
  if (!plan.piece_model.empty())
    plan.tokens.text.model = std::filesystem::absolute(checkpoint / kTokenizerFile).string();
}

/// Finds the weights of a chosen language. They determine the rows of the head.
void plan_language(const std::filesystem::path& folder, const std::string& language,
                   ImportPlan& plan) {
  plan.language_file = folder / language_file_name(language);
  if (std::filesystem::path(language).filename() != language || !is_there(plan.language_file))
    throw_fault(folder, fmt::format("holds no {}: download it from where the folder is from, or "
                                    "leave out --language for what model.safetensors has",
                                    language_file_name(language)));
  const SafetensorsFile weights(plan.language_file);
  const SafetensorsEntry& bias = weights.entry("lm_head.bias");
  plan.rows = bias.shape.empty() ? 0 : bias.shape.front();
}

/// Takes the tokens of a byte-level BPE, and the texts of a chat.
Vocabulary plan_byte_pairs(const std::filesystem::path& folder,
                           const std::filesystem::path& checkpoint, const ImportChoices& choices,
                           ImportPlan& plan) {
  BytePairRows read =
      read_byte_pair_rows(folder, plan.rows, plan.blank, plan.architecture.label_zero_setting());
  if (const auto& chat = plan.architecture.chat) {
    const ChatFolder from{folder, plan.settings.config, plan.blank};
    plan.chat = chat_ids(*chat, read, choices.language, from);
    for (const std::string& name : choices.languages)
      set_chat(chat_ids(*chat, read, name, from), plan.languages.emplace_back(name).decoder);
  }
  plan.piece_model = to_tokenizer_json(read.model);
  plan.tokens.text.kind = "bpe";
  plan.tokens.text.model = std::filesystem::absolute(checkpoint / kTokenizerFile).string();
  plan.tokens.text.fold = "none";
  return std::move(read.vocabulary);
}

/// Determines the labels of the folder's head, by its tokenizer.
void plan_labels(const std::filesystem::path& folder, const std::filesystem::path& checkpoint,
                 const ImportChoices& choices, ImportPlan& plan) {
  const std::string& language = choices.language;
  const Settings& config = plan.settings.config;
  const auto& file = plan.settings.config_file;
  const Architecture& architecture = plan.architecture;
  const bool prompted = !architecture.language_prompt.empty() || architecture.chat;
  plan.rows = whole_setting(config, architecture.rows_setting, architecture.rows, file);
  plan.blank = blank_row(architecture, config, file);
  if (!choices.languages.empty() && !prompted)
    throw ConfigError(
        fmt::format("{}: a {} reads no prompt, in which a language could be named: "
                    "leave --languages out",
                    folder.string(), architecture.name));
  if (!language.empty() && !prompted) plan_language(folder, language, plan);
  const TokenizerKind kind = tokenizer_kind(folder, architecture);
  if (architecture.chat && kind != TokenizerKind::byte_pairs)
    throw_fault(folder, fmt::format("holds no byte-level BPE, but a {} has one: save the tokenizer "
                                    "of the model into it",
                                    architecture.name));
  const Vocabulary vocabulary =
      kind == TokenizerKind::byte_pairs
          ? plan_byte_pairs(folder, checkpoint, choices, plan)
          : read_vocabulary(folder, {.kind = kind,
                                     .rows = plan.rows,
                                     .blank = plan.blank,
                                     .blank_setting = architecture.blank_setting,
                                     .language = prompted ? std::string_view() : language,
                                     .unnamed_rows = architecture.unnamed_rows});
  plan.language = vocabulary.language;
  if (plan.chat)
    plan.language = plan.chat->language;
  else if (prompted)
    std::tie(plan.language, plan.prompt) =
        choose_prompt(architecture, vocabulary, language, folder);
  if (!plan.chat)
    for (const std::string& name : choices.languages)
      set_text_ends(architecture, choose_prompt(architecture, vocabulary, name, folder).second,
                    plan.blank, plan.languages.emplace_back(name).decoder);
  plan.tokens_beyond_head = vocabulary.beyond;
  if (kind == TokenizerKind::pieces) plan_pieces(folder, checkpoint, vocabulary, plan);
  if (plan.piece_model.empty()) plan.tokens = text_of_tokens(vocabulary, plan.blank);
  if (plan.tokens.replaced.empty()) plan.no_pieces.clear();
}

/// Throws ConfigError unless `text` is given exactly if the folder has no head.
void check_text(const std::filesystem::path& folder, const ImportPlan& plan,
                const ImportChoices& choices) {
  const std::optional<configs::TextConfig>& text = choices.text;
  if (!plan.headless && text)
    throw ConfigError(fmt::format(
        "{}: a {} has a head for labels of its own; leave text.* out here, and give it to penstock "
        "train, which makes a new head for other labels",
        folder.string(), plan.architecture.name));
  if (plan.headless && !(choices.language.empty() && choices.languages.empty()))
    throw ConfigError(fmt::format("{}: a {} has no head, and so no languages: leave {} out",
                                  folder.string(), plan.headless->name,
                                  choices.language.empty() ? "--languages" : "--language"));
  if (plan.headless && !text)
    throw ConfigError(fmt::format(
        "{}: a {} has no head: say which labels a new one is for, such as\n"
        "  text.alphabet=\" 'abcdefghijklmnopqrstuvwxyz\" text.fold=lower\n"
        "or text.kind=sentencepiece text.model=FILE, or text.kind=bpe text.model=FOLDER",
        folder.string(), plan.headless->name));
}

/// Throws ConfigError if an adapter is chosen for a folder without a head.
void check_adapter(const std::filesystem::path& folder, const ImportPlan& plan,
                   const ImportChoices& choices) {
  if (choices.adapter.empty() || !plan.headless) return;
  throw ConfigError(fmt::format(
      "{}: a {} has no head, and so no adapter can be read with it: in Python, save the "
      "model and the processor with which the adapter was trained, {}, by "
      "save_pretrained()",
      folder.string(), plan.headless->name, plan.architecture.name));
}

/// Throws unless the tokens at the ends of a language model's text have rows in the head.
void check_ends(const ImportPlan& plan) {
  const auto& file = plan.settings.config_file;
  for (const MappedSetting& one : plan.architecture.generation)
    if (const std::int64_t row = whole_setting(plan.settings.config, one.theirs, one.absent, file);
        row >= plan.rows)
      throw_fault(file, fmt::format("{} is {}, but the head has {}: it must name a row", one.theirs,
                                    row, counted(plan.rows, "row")));
}

/// Throws unless the features have the channels that the model takes.
void check_channels(const ImportPlan& plan) {
  const configs::FeatureConfig& features = plan.config.features;
  if (feature_bins(features) == plan.config.model.features) return;
  // If several settings determine the same key, the last one applies.
  const auto settings = std::views::reverse(plan.architecture.features);
  const auto mels = std::ranges::find(settings, "features.mels", &MappedSetting::ours);
  const auto channels =
      std::ranges::find(plan.architecture.model, "model.features", &MappedSetting::ours);
  const bool assumed =
      channels != plan.architecture.model.end() && !plan.settings.config.contains(channels->theirs);
  throw_fault(
      plan.settings.features_file,
      fmt::format(
          "{} is {}, but the model of config.json takes {} mel channels{}{}",
          mels == settings.end() ? "feature_size" : mels->theirs, features.mels,
          plan.config.model.features,
          features.stack > 1 ? fmt::format(" of {} stacked frames together", features.stack) : "",
          assumed ? fmt::format(", because that file lacks {}", channels->theirs) : ""));
}

ImportPlan plan_import(const std::filesystem::path& folder, const std::filesystem::path& checkpoint,
                       const ImportChoices& choices) {
  const std::optional<configs::TextConfig>& text = choices.text;
  ImportPlan plan;
  plan.settings = read_folder(folder);
  plan.architecture = architecture_of(plan.settings.config, plan.settings.config_file.string());
  read_features(plan.settings);
  plan.headless = find_headless(plan.architecture, plan.settings.config);
  check_text(folder, plan, choices);
  check_adapter(folder, plan, choices);
  if (text) {
    plan_new_head(checkpoint, *text, plan);
  } else {
    plan_labels(folder, checkpoint, choices, plan);
  }
  plan.config = config_of(plan.architecture, plan.settings, plan.tokens.text);
  check_ends(plan);
  set_text_ends(plan.architecture, plan.prompt, plan.blank, plan.config.model.networks);
  if (plan.chat) set_chat(*plan.chat, plan.config.model.networks);
  set_languages(plan.languages, folder, plan.config.model.networks);
  for (const auto& one :
       contradictions(plan.config.model.decoder_kind(), plan.config.model.networks))
    throw ConfigError(fmt::format("{}: {} {}", folder.string(), one.key, one.what));
  set_suppressed(plan.architecture, plan.settings, {plan.rows, plan.blank},
                 plan.config.model.networks);
  check_channels(plan);
  return plan;
}

/// Returns the differences in names of a folder without a head.
OtherNames other_names(const ImportPlan& plan) {
  if (!plan.headless) return {.left_out = plan.architecture.unread};
  return {.prefix = plan.architecture.prefix,
          .stored_prefix = plan.headless->prefix,
          .left_out = plan.headless->left_out};
}

/// Removes the head from a pairing.
void remove_head(Pairing& pairing) {
  std::erase_if(pairing.tensors, [](const TheirTensor& tensor) { return tensor.by_label; });
}

/// Appends those of a model's parameters that are not there yet, initialised like those of a new
/// model: a new head, and what a folder may lack. The model is planned without frames, so these
/// alone take memory.
void add_new_tensors(const configs::Config& config, std::int64_t labels,
                     std::vector<StreamedTensor>& tensors) {
  std::set<std::string> there;
  for (const StreamedTensor& tensor : tensors) there.insert(tensor.name);
  for (const layers::LayerPlan& plan : plan_model(config.model, static_cast<int>(labels)))
    for (const layers::ParamDecl& param : plan.params) {
      if (param.tied() || there.contains(param.name)) continue;
      StreamedTensor& tensor = tensors.emplace_back();
      tensor.name = param.name;
      tensor.shape = param.shape;
      tensor.ready.resize(tensor.handle().bytes());
      layers::initialise(param, config.trainer.seed,
                         {tensor.ready.data(), layers::DType::f32, param.shape});
    }
}

/// Returns the names of tensors that a folder without a head has and an import ignores.
std::vector<std::string> left_out(const HeadlessClass& headless, const WeightsFolder& weights) {
  std::vector<std::string> names;
  for (const auto& [name, place] : weights.places())
    for (const std::string_view begin : headless.left_out)
      if (name.starts_with(begin)) names.push_back(name);
  return names;
}

ShardIndex write_weights(const std::filesystem::path& folder,
                         const std::vector<StreamedTensor>& tensors, const ReadElements& read) {
  std::vector<CheckpointPiece> pieces;
  for (const StreamedTensor& tensor : tensors) {
    const layers::Tensor handle = tensor.handle();
    pieces.push_back({tensor.name, tensor.dtype, tensor.shape, 0, handle.size(), handle.data});
  }
  TensorStream stream(read);
  return write_shard(
      folder, "stage-0", pieces,
      [&](const layers::Tensor& handle, std::size_t begin) { return stream.bytes(handle, begin); });
}

/// An adapter that goes into a checkpoint with its base.
class ImportedAdapter {
 public:
  /// Throws CheckpointError if it does not fit the base.
  ImportedAdapter(const ImportChoices& choices, const ImportPlan& plan, const Pairing& pairing)
      : adapter_(choices.adapter) {
    const int labels = static_cast<int>(plan.rows);
    adapter_.check_base(
        plan.architecture, pairing,
        choices.merge ? layers_with_matrix(pairing) : linear_layers(plan.config.model, labels));
    stack_.emplace(adapter_, pairing, plan.blank);
  }

  ImportedAdapter(const ImportedAdapter&) = delete;
  ImportedAdapter& operator=(const ImportedAdapter&) = delete;

  const AdapterStack& stack() const { return *stack_; }

  /// Replaces weights that the adapter has as a whole.
  void replace_weights(WeightsFolder& weights) const {
    weights.replace_by(adapter_.file(), adapter_.saved());
  }

  /// Returns a function that reads merged weights with `read`.
  ReadElements merging(ReadElements read, const StoredNames& stored) const {
    return merging_reader(std::move(read), adapter_.reader(), stack_->updates(stored));
  }

  /// Sets the section [lora] and adds the factors to the checkpoint's tensors. Returns a function
  /// that reads them, and the others with `read`.
  ReadElements adding(ReadElements read, ImportPlan& plan,
                      std::vector<StreamedTensor>& tensors) const {
    const int labels = static_cast<int>(plan.rows);
    plan.config.model.lora = stack_->lora(plan.config, labels);
    ComputedTensors factors = stack_->tensors(plan.config, labels);
    for (const auto& [name, shape] : model_tensors(plan.config.model, labels)) {
      if (!factors.contains(name)) continue;
      StreamedTensor& tensor = tensors.emplace_back();
      tensor.name = name;
      tensor.shape = shape;
      tensor.columns = shape[1];
      tensor.runs = {{name, 0, shape[0]}};
    }
    return computing_reader(std::move(read), std::move(factors));
  }

 private:
  PeftAdapter adapter_;
  std::optional<AdapterStack> stack_;
};

/// Returns the config.json of a model with a new head. Its class is the architecture's class with a
/// head.
std::string config_with_head(const ImportPlan& plan) {
  const std::string blank = fmt::format("{}", plan.blank);
  return text_with_settings(
      plan.settings.config_file,
      {{"architectures", fmt::format("[{}]", quoted_json(plan.architecture.name))},
       {std::string(plan.architecture.rows_setting), fmt::format("{}", plan.rows)},
       {"pad_token_id", blank},
       {std::string(plan.architecture.blank_setting), blank}});
}

/// Returns the text of a kept file, adapted to a new head or to the chosen language.
std::string kept_text(const std::filesystem::path& file, const ImportPlan& plan) {
  const bool config = file.filename() == kModelConfig;
  if (plan.headless && config) return config_with_head(plan);
  if (plan.language_file.empty()) return text_of_file(file);
  if (config) return text_with_settings(file, {{"vocab_size", fmt::format("{}", plan.rows)}});
  if (file.filename() == kTokenizerConfig)
    return text_with_settings(file, {{"target_lang", quoted_json(plan.language)}});
  return text_of_file(file);
}

/// Copies the files that an export writes again. With a new head, the folder's labels are omitted.
std::vector<KeptFile> keep_files(const ImportPlan& plan, const std::filesystem::path& checkpoint) {
  const std::filesystem::path& from = plan.settings.folder;
  std::vector<KeptFile> kept;
  make_output(checkpoint / kKeptFolder);
  for (const char* name : kKeptFiles) {
    if (!is_there(from / name) || (plan.headless && says_labels(name))) continue;
    const std::string text = kept_text(from / name, plan);
    const std::string file = fmt::format("{}/{}", kKeptFolder, name);
    write_durably(checkpoint / file, text);
    kept.push_back({file, text.size(), xxh3_128(text)});
  }
  return kept;
}

/// Returns true if a prompt could name a language, and none was chosen.
bool names_no_language(const ImportPlan& plan) {
  if (plan.chat) return plan.language.empty();
  return !plan.architecture.language_prompt.empty() && plan.prompt.empty();
}

/// Returns the report of an import of these tensors.
ImportReport report_of(const ImportPlan& plan, const WeightsFolder& weights,
                       const std::vector<StreamedTensor>& tensors) {
  ImportReport report{.architecture = std::string(plan.architecture.name),
                      .labels = static_cast<int>(plan.rows),
                      .without_letter = plan.tokens.replaced,
                      .beyond_head = plan.tokens_beyond_head,
                      .language = plan.language,
                      .languages = plan.config.model.networks.languages,
                      .no_prompt = names_no_language(plan),
                      .such_as = plan.chat ? "English" : "eng_latn",
                      .no_pieces = plan.no_pieces,
                      .new_head = plan.headless.has_value(),
                      .rank = plan.config.model.lora.rank};
  if (plan.headless) report.left_out = left_out(*plan.headless, weights);
  for (const StreamedTensor& tensor : tensors) report.parameters += tensor.handle().size();
  return report;
}

/// Returns the names of tensors that a folder lacks, of those that it may lack.
std::vector<std::string> lacking(const Pairing& pairing, const StoredNames& stored) {
  std::vector<std::string> names;
  for (const TheirTensor& tensor : pairing.tensors)
    if (!stored.contains(tensor.name)) names.push_back(tensor.name);
  return names;
}

}  // namespace

/// Everything is checked before the checkpoint's folder is created: settings, labels, and every
/// tensor's name, shape and type. Tensors are then streamed into one shard, as stage 0.
ImportReport import_model(const std::filesystem::path& folder,
                          const std::filesystem::path& checkpoint, const ImportChoices& choices) {
  // Settings and labels, then which of the folder's tensors is which of ours.
  ImportPlan plan = plan_import(folder, checkpoint, choices);
  const ModelTensors ours = model_tensors(plan.config.model, static_cast<int>(plan.rows));
  Pairing pairing = pair_tensors(plan.architecture, plan.config.model, ours);
  if (plan.headless) remove_head(pairing);
  std::optional<ImportedAdapter> adapter;
  if (!choices.adapter.empty()) adapter.emplace(choices, plan, pairing);
  WeightsFolder weights(folder);
  if (!plan.language_file.empty()) weights.replace_by(plan.language_file);
  if (adapter) adapter->replace_weights(weights);
  const StoredNames stored = account(pairing, weights, folder, other_names(plan),
                                     assumed_sizes(plan.architecture, plan.settings.config));

  // The tensors of the checkpoint. Most are descriptions of where their numbers are, which are read
  // only while they are written. A new head and kept tensors are in memory.
  std::vector<StreamedTensor> tensors = our_tensors(pairing, ours, stored, plan.blank);
  ReadElements read = [&](const std::string& source, std::int64_t begin, std::span<float> out) {
    weights.read(source, begin, out);
  };
  if (adapter && choices.merge) read = adapter->merging(read, stored);
  if (adapter && !choices.merge) read = adapter->adding(read, plan, tensors);
  add_new_tensors(plan.config, plan.rows, tensors);
  ImportReport report = report_of(plan, weights, tensors);
  if (adapter) report.adapted = static_cast<int>(adapter->stack().layers().size());
  report.new_tensors = lacking(pairing, stored);
  for (const std::string& kept : pairing.kept)
    if (stored.contains(kept)) tensors.push_back(kept_number(kept, stored.at(kept), weights));

  // Everything is written to a partial folder, which gets its name only when it is complete.
  NewFolder made(checkpoint);
  Manifest manifest;
  manifest.state.config = configs::flatten(plan.config);
  manifest.state.seed = plan.config.trainer.seed;
  manifest.shards = {write_weights(made.partial(), tensors, read)};
  manifest.files = keep_files(plan, made.partial());
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
