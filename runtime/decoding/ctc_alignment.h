#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// The likeliest path of a text through the frames of CTC.
struct CtcPath {
  /// The place in the text of the label that each frame has; -1: a blank.
  std::vector<std::int64_t> places;
  /// Posterior probabilities of each frame's label, from 0 to 1.
  std::vector<double> probabilities;
};

/// Returns the likeliest of all paths that CTC's rule turns into `labels`, which has no blank (0).
/// `logits_FC` has `channels` a frame, of which softmax makes probabilities; in a frame
/// without a finite logit, all are alike. DataError if the text needs more frames than there are,
/// which is one for each label and one between equal neighbours, or if no path has a probability
/// above 0. ShapeError if the logits are no whole number of frames, or if a label is no channel.
/// The search goes back in blocks of `block` frames, which change its memory and not the path; 0:
/// those that need least.
[[nodiscard]] CtcPath align_ctc(std::span<const float> logits_FC, std::int64_t channels,
                                std::span<const std::int32_t> labels, std::size_t block = 0);

}  // namespace penstock::runtime
