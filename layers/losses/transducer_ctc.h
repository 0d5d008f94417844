#pragma once

#include <cstdint>
#include <string>

#include "layers/layer.h"
#include "layers/losses/ctc.h"
#include "layers/losses/loss.h"
#include "layers/losses/transducer.h"

namespace penstock::layers {

/// The loss of a transducer and that of CTC, of one encoder and the same labels, as in NeMo's
/// hybrid models:
///   loss = (1 - w) · transducer + w · CTC
/// A row of its input has J channels of the joint network, and then a logit of each class for CTC,
/// so one Linear layer before it makes both projections. Its parameters are the transducer's.
///
/// An utterance's loss has two parts in Targets::losses: the weighted losses of the transducer, and
/// after them those of CTC. Memory: what the two layers keep, where the transducer's input is a
/// copy of its columns.
class TransducerCtc final : public Layer {
 public:
  /// ShapeError if the options describe no transducer, or unless 0 < ctc_weight < 1.
  TransducerCtc(TransducerOptions options, double ctc_weight);

  const std::string& name() const override { return transducer_.name(); }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  std::int64_t joint() const { return transducer_.options().joint; }
  std::int64_t classes() const { return transducer_.options().classes; }

  Transducer transducer_;
  Ctc ctc_;
  double ctc_weight_;
};

/// Returns the declaration of both, which decodes by the transducer; make_ctc_decoder decodes by
/// CTC. The classes of `options` are ignored: the layer gets those of the text.
[[nodiscard]] Loss transducer_ctc_loss(const TransducerOptions& options, double ctc_weight);

}  // namespace penstock::layers
