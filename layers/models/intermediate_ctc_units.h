#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "layers/layer.h"

namespace penstock::layers {

/// Says after which blocks of an encoder a CTC loss is trained besides the one at its end. The
/// model's loss becomes
///   loss of the decoder + weight · mean of the CTC losses after these blocks
/// A model with `interctc_weight` w in ESPnet or NeMo has the weight w / (1 - w) here.
struct IntermediateLosses {
  std::vector<int> blocks = {};  // numbers of blocks, from 1, ascending; empty: no such loss
  double weight = 0.5;
  bool conditions = false;  // later blocks read the posteriors: self-conditioned CTC
};

/// Returns the keys model.intermediate_ctc and so on. They point into `losses`.
[[nodiscard]] std::vector<Key> intermediate_loss_keys(IntermediateLosses* losses);

/// Returns true for the names of these keys.
[[nodiscard]] bool is_intermediate_key(std::string_view name);

/// Returns what contradicts in an encoder of so many blocks.
[[nodiscard]] std::vector<Contradiction> intermediate_loss_contradictions(
    const IntermediateLosses& losses, int blocks);

struct EncoderBlock {
  int number = 0;            // from 1
  std::int64_t width = 0;    // channels that leave it
  std::int64_t classes = 0;  // labels, blank included
};

/// Appends the unit with the loss after a block, if it has one:
///   blockN.intermediate_ctc     norm output ctc
///   blockN.self_conditioned_ctc norm output ctc condition
/// It is residual, and adds nothing or, conditioned, a projection of the labels' posteriors.
void add_intermediate_loss(std::vector<std::unique_ptr<Layer>>& sequence,
                           const IntermediateLosses& losses, const EncoderBlock& block);

/// Returns true for parameters of such units, of either kind.
[[nodiscard]] bool is_intermediate_parameter(std::string_view name);

/// Returns true for those that evaluation does not need: of units that pass their input on.
[[nodiscard]] bool is_unused_in_evaluation(std::string_view name);

}  // namespace penstock::layers
