#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock::runtime {

/// Describes what an import found.
struct ImportReport {
  std::string architecture;  // "Wav2Vec2ForCTC"
  std::int64_t parameters = 0;
  int labels = 0;                           // including the blank
  std::vector<std::string> without_letter;  // tokens that the alphabet represents by stand-ins
  /// Tokens without a row in the head, which are never recognised.
  std::vector<std::string> beyond_head;
  /// Tensors that the folder lacks and that start as in a new model.
  std::vector<std::string> new_tensors = {};
  std::string language = {};                // the imported language, if the folder has several
  std::vector<std::string> languages = {};  // those with prompts of their own
  bool no_prompt = false;    // true if a prompt could name a language, and none was chosen
  std::string such_as = {};  // a language that it could name then
  /// Why tokenizer.json is not a SentencePiece model, if that causes stand-ins.
  std::string no_pieces;
  bool new_head = false;                   // true if the folder had no head
  std::vector<std::string> left_out = {};  // tensors that only pre-training uses
  int adapted = 0;                         // linear layers that an adapter changes
  int rank = 0;                            // of the adapters; 0: none, or merged
};

struct ImportChoices {
  /// Labels of a new head, for a model that was only pre-trained.
  std::optional<configs::TextConfig> text = {};
  /// For MMS, which has adapters and a head per language: the language whose
  /// adapter.LANGUAGE.safetensors replaces weights of model.safetensors. Empty: model.safetensors
  /// is used, whose language is the tokenizer's target_lang. For a language model, the language
  /// that its prompt names (decoder.prompt), by its name or code; empty: it names none. For an
  /// attention decoder, empty is English if it knows several languages.
  std::string language = {};
  /// Languages whose utterances get a prompt of their own (decoder.languages), of a language model
  /// or an attention decoder. Other utterances have the prompt of `language`.
  std::vector<std::string> languages = {};
  /// A folder with a LoRA adapter of PEFT for the model; empty: none.
  std::filesystem::path adapter = {};
  /// Adds the adapter to the weights. Otherwise the checkpoint holds both, and a section [lora].
  bool merge = false;
};

/// Converts a folder that transformers saved to a checkpoint of step 0. Numbers become FP32, and
/// the blank's label becomes 0. Tokenizer, settings and tensors that penstock does not compute with
/// are kept for export_model(). Memory does not grow with the model. Throws CheckpointError that
/// says what the folder lacks, has in addition, or has in another form. After an error there is no
/// `checkpoint`.
///
/// A model that was only pre-trained has no head. It gets a new one for the labels of `text`,
/// initialised like that of a new model. Other models take no `text`. Throws ConfigError that names
/// the folder and the keys to add or to leave out.
///
/// With an adapter, modules that form one of penstock's layers become one adapter of it, and all
/// get one rank and one scale; see AdapterStack. Throws CheckpointError that lists what does not
/// fit the model, and ConfigError for a model without a head.
ImportReport import_model(const std::filesystem::path& folder,
                          const std::filesystem::path& checkpoint,
                          const ImportChoices& choices = {});

}  // namespace penstock::runtime
