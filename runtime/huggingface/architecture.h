#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/huggingface/settings.h"
#include "runtime/huggingface/tensor_rule.h"

namespace penstock::runtime {

/// How a setting of transformers is written as a key of penstock.
enum class Form {
  plain,         // numbers, lists of them, true and false
  text,          // a string
  equal_list,    // one number for each of model.kernels, all of them equal
  or_null,       // a whole number above 0, or null, which is penstock's 0
  from_zero,     // a whole number of at least 0
  milliseconds,  // samples, of the sample rate that was taken before
};

/// A setting that becomes a key. `absent` is its JSON where a file does not name it.
struct MappedSetting {
  std::string_view theirs, absent, ours;
  Form form = Form::plain;
};

/// A setting that penstock's models fix.
struct RequiredSetting {
  std::string_view theirs, absent, value;
  std::string_view same_as = {};  // another JSON that means the same to transformers
  std::string_view remedy = {};   // what to do about another value
};

/// A key that the architecture fixes.
struct FixedKey {
  std::string_view ours, value;
  bool training_only = false;  // an import sets it, and an export takes any value of it
};

/// A key whose 0 stands for a multiple of another key's number.
struct Multiple {
  std::string_view ours, of;
  int times = 1;
};

/// Tensors of every layer, or of the model: `repeats` is a number, or the key that counts the
/// layers or lists something of each.
struct RuleGroup {
  std::string_view repeats;
  std::vector<TensorRule> rules = {};
  std::vector<KeptRule> kept = {};
  std::string_view prefix = {};  // before each of theirs
};

enum class TokenizerKind { characters, pieces };

/// A class of transformers with the encoder of an architecture, and without its head.
struct HeadlessClass {
  std::string_view name;                        // "Wav2Vec2ForPreTraining"
  std::string_view prefix;                      // of its tensors, in place of the architecture's
  std::vector<std::string_view> left_out = {};  // how names begin that only pre-training uses
};

/// All that is known of an architecture of transformers: tables, one file for each architecture.
struct Architecture {
  std::string_view name;        // "Wav2Vec2ForCTC"
  std::string_view model_type;  // "wav2vec2"
  std::vector<FixedKey> fixed;
  std::vector<Multiple> multiples = {};
  std::vector<MappedSetting> model;              // of config.json
  std::vector<MappedSetting> exported_too = {};  // an import leaves them
  std::vector<RequiredSetting> wanted;           // of config.json
  std::vector<MappedSetting> features;           // of preprocessor_config.json
  std::vector<RequiredSetting> wanted_features;
  std::vector<RuleGroup> tensors;
  std::string_view blank_setting = "pad_token_id";  // of config.json: the blank's row
  std::string_view blank;                           // that row where config.json does not name it
  bool blank_last = false;  // where an export of labels that were never theirs puts it
  TokenizerKind tokenizer = TokenizerKind::characters;
  std::string_view prefix = {};              // of all tensors but the head's
  std::vector<HeadlessClass> headless = {};  // imported with a new head
};

[[nodiscard]] Architecture wav2vec2_for_ctc();
[[nodiscard]] Architecture hubert_for_ctc();
[[nodiscard]] Architecture omniasr_for_ctc();
[[nodiscard]] Architecture parakeet_for_ctc();
[[nodiscard]] Architecture wav2vec2_bert_for_ctc();

/// Those that penstock reads and writes.
[[nodiscard]] std::vector<Architecture> architectures();

/// The architecture of a config.json. CheckpointError "<where>: …" names its model_type and those
/// that are known.
[[nodiscard]] Architecture architecture_of(const Settings& config, const std::string& where);

/// The class of a config.json where it is one of the architecture's without a head.
[[nodiscard]] std::optional<HeadlessClass> find_headless(const Architecture& architecture,
                                                         const Settings& config);

/// The architectures that are of a family of penstock's, the usual one first. ConfigError if there
/// are none.
[[nodiscard]] std::vector<Architecture> architectures_of_family(std::string_view kind);

}  // namespace penstock::runtime
