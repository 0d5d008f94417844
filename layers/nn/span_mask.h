#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/philox.h"

namespace penstock::layers {

/// Says how many spans an axis gets, as transformers does for one utterance by itself with
/// `mask_…_prob`, `mask_…_length` and `mask_…_min_masks`. Of `size` places, share · size / length
/// spans are masked, rounded up or down at random so that their mean is exact, and at least
/// `least`, but no more than fit one after the other. Spans may overlap, so fewer places than the
/// share are masked.
struct SpanRule {
  double share = 0;  // of all places
  int length = 10;   // places of a span
  int least = 0;     // spans at least
};

struct SpanMaskOptions {
  bool apply = true;  // false: the layer keeps its parameter, and masks nothing
  SpanRule time = {.least = 2};
  SpanRule features = {};

  /// True if a model has the layer.
  bool any() const { return time.share > 0 || features.share > 0; }
};

/// Returns where the spans of an axis of `size` places start, all different. They depend on the
/// random stream and on `axis` alone, which tells two axes of one stream apart. There are none if
/// the axis is shorter than a span.
[[nodiscard]] std::vector<std::int64_t> draw_spans(const SpanRule& rule, std::int64_t size,
                                                   const PhiloxStream& random, std::uint32_t axis);

/// Masks spans of frames and of channels in training, as wav2vec 2.0 does before its blocks
/// (Baevski et al. 2020, §3.1 and appendix B; SpecAugment, Park et al. 2019). A masked frame
/// becomes a trained vector, and then a masked channel becomes 0 in all frames of the utterance. In
/// evaluation it copies its input. What is masked depends on (seed, epoch, utterance, layer) and
/// the utterance's frames alone. Parameter: "<name>.embedding" [channels], which starts uniform in
/// ±1.
class SpanMaskLayer final : public Layer {
 public:
  /// ShapeError unless shares are from 0 to 1, lengths at least 1, and least numbers at least 0.
  SpanMaskLayer(std::string name, std::int64_t channels, SpanMaskOptions options);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  void copy_masks(Context& context, Saved saved) const;

  std::string name_;
  std::int64_t channels_;
  SpanMaskOptions options_;
};

}  // namespace penstock::layers
