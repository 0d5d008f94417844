#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "runtime/huggingface/settings.h"
#include "runtime/huggingface/tensor_rule.h"

namespace penstock::runtime {

/// The conversion between a setting of transformers and a key of penstock.
enum class Form {
  plain,         // numbers, lists of numbers, true and false
  text,          // a string
  equal_list,    // one number per element of model.kernels, all equal
  or_null,       // a whole number above 0; null is penstock's 0
  from_zero,     // whole numbers, 0 or more: one, or a list
  milliseconds,  // samples, at the sample rate that was read before
};

/// A setting that becomes a key. `absent` is its JSON if a file does not name it.
struct MappedSetting {
  std::string_view theirs, absent, ours;
  Form form = Form::plain;
  std::string_view also = {};                   // a second key with the same value
  std::vector<std::string_view> accepted = {};  // for a text: the values that penstock has
  std::string_view formerly = {};               // its earlier name
};

/// A setting that penstock supports with one value only.
struct RequiredSetting {
  std::string_view theirs, absent, value;
  std::string_view same_as = {};  // other JSON that transformers treats the same
  std::string_view remedy = {};   // advice for other values
};

/// A setting whose value follows from keys: the number of `of`, divided by that of `per` if there
/// is one. Files may leave it out, or say null.
struct DerivedSetting {
  std::string_view theirs, of, per = {};
  std::string_view remedy = {};  // advice for other values
};

/// A key whose value the architecture fixes.
struct FixedKey {
  std::string_view ours, value;
  bool training_only = false;  // an import sets it, but an export accepts any value
};

/// A key whose 0 means a multiple of another key's number, divided by that of `per` if there is
/// one.
struct Multiple {
  std::string_view ours, of;
  int times = 1;
  std::string_view per = {};
};

/// Rules for the tensors of the model, or of each of its layers. `repeats` is a number, or a key
/// that counts the layers or lists one element per layer.
struct RuleGroup {
  std::string_view repeats;
  std::vector<TensorRule> rules = {};
  std::vector<KeptRule> kept = {};
  std::string_view prefix = {};  // prepended to each of their names
};

enum class TokenizerKind { characters, pieces, byte_pairs };

/// A class of transformers with an architecture's encoder, but without its head.
struct HeadlessClass {
  std::string_view name;    // "Wav2Vec2ForPreTraining"
  std::string_view prefix;  // prefix of its tensors, instead of the architecture's
  std::vector<std::string_view> left_out = {};  // prefixes of tensors that only pre-training uses
};

/// A language as a prompt names it, and its code.
struct PromptLanguage {
  std::string_view code, name;  // "en", "English"
};

/// ChatPrompt has the texts that the chat template of an architecture's models writes. They are in
/// the form of the tokenizer, special tokens included.
struct ChatPrompt {
  std::string_view before, after;  // the text before the frames, and after them
  std::string_view language;       // follows `after` and names a language, which "{}" stands for
  std::string_view end;            // token that ends the text
  std::vector<std::string_view> tokens = {};  // each is one token of the tokenizer
  std::vector<std::string_view> language_tokens = {};
  std::vector<PromptLanguage> languages = {};
};

/// Describes an architecture of transformers completely, as tables. Each architecture has a file of
/// its own.
struct Architecture {
  std::string_view name;             // "Wav2Vec2ForCTC"
  std::string_view model_type;       // "wav2vec2"
  std::string_view library;          // module of Python that defines the class
  std::string_view decoder = "ctc";  // value of model.decoder
  std::vector<FixedKey> fixed;
  std::vector<Multiple> multiples = {};
  std::vector<MappedSetting> model;              // in config.json
  std::vector<MappedSetting> exported_too = {};  // an import ignores them
  std::vector<RequiredSetting> wanted;           // in config.json
  std::vector<DerivedSetting> derived = {};      // in config.json
  std::vector<MappedSetting> generation = {};    // in generation_config.json, of an export alone
  std::vector<MappedSetting> features;           // in preprocessor_config.json
  std::vector<RequiredSetting> wanted_features;
  std::vector<RuleGroup> tensors;
  /// Setting of config.json that holds the number of the head's rows, and its JSON if absent.
  std::string_view rows_setting = "vocab_size", rows = "null";
  bool unnamed_rows = false;  // true if the last rows of the head may have no token
  /// Setting of config.json that holds a row that no text has. Exports with new labels name the
  /// last row.
  std::string_view free_row_setting = {};
  /// An import takes that row for the blank's, since every other one may be of a text.
  bool free_row_is_blank = false;
  /// Setting of config.json that holds the blank's row; empty: there is no blank, and row 0 is that
  /// of a special token.
  std::string_view blank_setting = "pad_token_id";
  std::string_view rows_too = {};          // a second setting with the number of rows
  std::string_view blank;                  // the row if config.json does not name it
  bool blank_last = false;                 // true if exports with new labels put the blank last
  std::string_view blank_token = "<pad>";  // its token in such exports
  TokenizerKind tokenizer = TokenizerKind::characters;
  /// Tokens of a prompt that names a language, which "{}" stands for; empty: there is no prompt.
  /// The last one of an attention decoder's begins the text.
  std::vector<std::string_view> language_prompt = {};
  std::string_view default_language = {};  // if none is chosen; empty: there is no prompt then
  /// Tokens of the prompt of a model that knows one language and names none.
  std::vector<std::string_view> plain_prompt = {};
  /// The begin_suppress_tokens of a folder that does not name them.
  std::string_view begin_suppressed = "null";
  std::optional<ChatPrompt> chat = {};       // texts around the frames, if they are a chat
  std::string_view prefix = {};              // prefix of all tensors except the head's
  std::vector<HeadlessClass> headless = {};  // classes that are imported with a new head
  /// Tensors that folders may hold and transformers does not read.
  std::vector<std::string_view> unread = {};

  /// Returns the setting of config.json that names the row of label 0; empty: it is row `blank`.
  std::string_view label_zero_setting() const {
    return free_row_is_blank ? free_row_setting : blank_setting;
  }

  /// True if its texts begin and end with tokens of their own.
  bool writes_texts() const { return decoder == "lm" || decoder == "attention"; }
};

[[nodiscard]] Architecture wav2vec2_for_ctc();
[[nodiscard]] Architecture hubert_for_ctc();
[[nodiscard]] Architecture omniasr_for_ctc();
[[nodiscard]] Architecture omniasr_for_conditional_generation();
[[nodiscard]] Architecture parakeet_for_ctc();
[[nodiscard]] Architecture parakeet_for_rnnt();
[[nodiscard]] Architecture parakeet_for_tdt();
[[nodiscard]] Architecture wav2vec2_bert_for_ctc();
[[nodiscard]] Architecture whisper_for_conditional_generation();
[[nodiscard]] Architecture canary_for_conditional_generation();
[[nodiscard]] Architecture cohere_asr_for_conditional_generation();
[[nodiscard]] Architecture qwen3_asr_for_conditional_generation();

/// Returns the architectures that penstock reads and writes.
[[nodiscard]] std::vector<Architecture> architectures();

/// Returns the architecture of a config.json. Throws CheckpointError "<where>: …", which names its
/// model_type and the known ones.
[[nodiscard]] Architecture architecture_of(const Settings& config, const std::string& where);

/// Returns the class of a config.json if it is one of the architecture's classes without a head.
[[nodiscard]] std::optional<HeadlessClass> find_headless(const Architecture& architecture,
                                                         const Settings& config);

/// Returns the architectures with a model's family and decoder, the usual one first. Throws
/// ConfigError if there are none.
[[nodiscard]] std::vector<Architecture> architectures_of_model(const configs::ModelConfig& model);

}  // namespace penstock::runtime
