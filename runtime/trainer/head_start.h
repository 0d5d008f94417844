#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "configs/config.h"
#include "layers/layer_plan.h"
#include "partition/layout/layer_sequence.h"
#include "runtime/checkpoint/checkpoint.h"
#include "runtime/text/tokenizer.h"
#include "runtime/trainer/kept_rows.h"

namespace penstock::runtime {

/// The head: the decoder's layers with parameters, and the encoder's last one, which projects
/// frames for them.
struct Head {
  std::vector<std::string> layers;
  std::vector<layers::ParamDecl> parameters;

  bool has(std::string_view parameter) const;
  /// True for a tensor of these layers, or of any other decoder.
  bool covers(std::string_view tensor) const;
  /// Returns "output", "output and transducer", or "output to decoder.output".
  std::string name() const;
};

/// Finds the head. `plans` are those of all layers.
[[nodiscard]] Head find_head(const partition::LayerSequence& sequence,
                             const std::vector<layers::LayerPlan>& plans);

/// True for a parameter of a head whose rows are those of labels. A of an adapter (LoRA) has rows
/// of its own.
[[nodiscard]] bool has_rows_of_labels(std::string_view parameter);

/// Says what a new run takes from a checkpoint's head.
enum class HeadSource {
  whole,
  rows,  // the rows of labels that both have
  none,  // the head is initialised
};

/// Returns what trainer.init_head asks for. `same_labels` says whether [text] defines the
/// checkpoint's labels; if so, `pieces` takes a head of the same shape as it is, and leaves
/// adapters (LoRA) that the checkpoint lacks to the run.
[[nodiscard]] HeadSource head_source(const configs::Config& config, const Head& head,
                                     const Checkpoint& checkpoint, bool same_labels);

/// Finds the rows of `head` whose labels the checkpoint has too. The checkpoint has all tensors of
/// the head, of any number of rows, but it may lack an adapter (LoRA). ConfigError if only the
/// loss's own label is shared, or if a parameter of the head has not one row for each output.
/// CheckpointError if the checkpoint has fewer rows than labels.
[[nodiscard]] KeptRows find_kept_rows(const configs::Config& config, const Tokenizer& tokenizer,
                                      const Head& head, const Checkpoint& checkpoint);

/// Throws ConfigError if a parameter is frozen, and would keep random weights. `kept` is empty if
/// the whole head starts anew.
void require_trained(const Head& head, const KeptRows& kept);

}  // namespace penstock::runtime
