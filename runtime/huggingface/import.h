#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "configs/config.h"

namespace penstock::runtime {

/// What an import found.
struct ImportReport {
  std::string architecture;  // "Wav2Vec2ForCTC"
  std::int64_t parameters = 0;
  int labels = 0;                           // blank included
  std::vector<std::string> without_letter;  // tokens for which the alphabet has stand-ins
  std::vector<std::string> beyond_head;     // tokens without a row: nothing ever recognises them
  /// Tensors that training in transformers has by these settings, and that the folder lacks; an
  /// export writes zeros for them.
  std::vector<std::string> without_numbers = {};
  std::string language = {};  // of a folder of several languages (MMS): the one that was imported
  std::string no_pieces;      // why tokenizer.json is no SentencePiece model, if that makes them
  bool new_head = false;      // the folder has none
  std::vector<std::string> left_out = {};  // names of tensors that only pre-training uses
};

struct ImportChoices {
  /// The labels of a new head, for a model that was only pre-trained.
  std::optional<configs::TextConfig> text = {};
  /// Of MMS, which has adapters and a head for each language: the one whose
  /// adapter.LANGUAGE.safetensors is read in place of what model.safetensors has. Empty: the
  /// latter, which is of the tokenizer's target_lang.
  std::string language = {};
};

/// Makes a checkpoint of step 0 of a folder that transformers saved. Numbers become FP32; the
/// blank's label becomes 0. Tokenizer, settings and tensors that penstock does not compute with are
/// kept for export_model(). Memory does not grow with the model. CheckpointError says what the
/// folder lacks, has besides, or has otherwise; then there is no `checkpoint`.
///
/// A model that was only pre-trained has no head. It gets a new one for the labels of `text`, which
/// starts as that of a new model; others take no `text`. ConfigError names the folder, and the keys
/// to give or to leave out.
ImportReport import_model(const std::filesystem::path& folder,
                          const std::filesystem::path& checkpoint,
                          const ImportChoices& choices = {});

}  // namespace penstock::runtime
