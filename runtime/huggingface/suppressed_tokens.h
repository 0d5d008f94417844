#pragma once

#include <cstdint>

#include "layers/models/decoder.h"
#include "runtime/huggingface/architecture.h"
#include "runtime/huggingface/config_map.h"
#include "runtime/huggingface/settings.h"

namespace penstock::runtime {

/// The rows of a head, of which row `blank` is label 0.
struct LabelRows {
  std::int64_t rows = 0, blank = 0;
};

/// Sets decoder.suppress and decoder.begin_suppress of an attention decoder to the labels of the
/// rows that a folder suppresses. Rows beyond the head are left out. Throws CheckpointError for a
/// setting that is no list of rows.
void set_suppressed(const Architecture& architecture, const FolderSettings& settings,
                    const LabelRows& head, layers::DecoderOptions& decoder);

/// Returns the settings of generation_config.json for the labels that a decoder suppresses. There
/// are none for empty lists.
[[nodiscard]] Settings suppression_settings(const layers::DecoderOptions& decoder,
                                            const LabelRows& head);

/// Returns those of a generation_config.json that the decoder's keys change.
[[nodiscard]] Settings suppression_changes(const layers::DecoderOptions& decoder,
                                           const LabelRows& head, const Settings& theirs);

}  // namespace penstock::runtime
