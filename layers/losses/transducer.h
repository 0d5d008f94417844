#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/losses/prediction_network.h"
#include "layers/ops/transducer.h"

namespace penstock::layers {

class Scratch;
struct TransducerTile;

struct TransducerOptions {
  std::string name = "transducer";
  std::int64_t classes = 0;                  // V: class 0, the blank, and the labels
  std::int64_t joint = 0;                    // J: channels of the joint network, and of the input
  std::vector<std::int32_t> durations = {};  // in frames, ascending; none for an RNN-T
  double sigma = 0;                          // TDT's under-normalisation of tokens
  JointNonlinearity nonlinearity = JointNonlinearity::relu;
  PredictionOptions prediction = {};
  /// A tile's logits, hidden layer and its gradient have at most so many numbers together, unless
  /// one frame has more. Tiles bound memory; gradients of the joint network's weights are added
  /// tile by tile. 0: 2^20 on a CPU, where larger tiles gain nothing, and 2^24 on a GPU, whose
  /// kernels need more work.
  std::int64_t tile_numbers = 0;
};

/// The exact loss of a transducer (RNN-T, or TDT with durations) at the end of a layer sequence,
/// with its prediction network and its joint network:
///   predicted[u]   of the labels 1 … u: PredictionNetwork, which reads class 0 first
///   logits[t, u]   Linear(f(x[t] + predicted[u])), classes + durations of them
/// x_FJ are frames that a Linear layer before this one projects to J channels.
/// layers/ops/transducer.h defines the loss. Its output is empty, and losses go to
/// Context::targets, which backward_input and backward_weight read too.
///
/// Parameters: those of PredictionNetwork, and "<name>.joint.weight" [classes + durations, J] and
/// "<name>.joint.bias".
///
/// Memory: of each cell, 2 + durations numbers are kept for backward. Logits and hidden layer exist
/// for one tile at a time and are computed again in backward.
class Transducer final : public Layer {
 public:
  /// ShapeError if the options describe no transducer.
  explicit Transducer(TransducerOptions options);

  const std::string& name() const override { return options_.name; }
  const TransducerOptions& options() const { return options_; }
  /// Cells are those of ActivationDecl::labels_or_usual(). No size shrinks if an utterance gets
  /// more frames or more labels.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  /// ShapeError for labels that are no classes, and for saved tensors that were planned for other
  /// numbers of labels.
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  struct Batch;
  struct Kept;
  struct TileRoom;
  struct JointGradients;

  std::int64_t outputs() const;  // K
  std::int64_t scores() const;   // S
  std::int64_t tile_cells(DeviceKind device) const;
  const Targets& targets_of(const Context& context) const;
  Workspace workspace(const Batch& batch, const LayerPlan& prediction,
                      const BackendSizes& sizes) const;
  Workspace tile_copies(const Batch& batch, const BackendSizes& sizes) const;
  /// Computes hidden layer and logits of a tile.
  void join(Context& context, const Params& params, const TransducerTile& tile, const Tensor& x_FJ,
            const Tensor& predicted_PJ, const TileRoom& room) const;
  /// Computes the gradients of a tile from what join() left. Those of the joint network's weights
  /// are added to `saved`.
  void separate(Context& context, const Params& params, const TransducerTile& tile, Saved saved,
                const TileRoom& room, const JointGradients& to) const;
  Kept kept_in(Saved saved, Scratch& scratch, const Batch& batch, DType dtype) const;

  TransducerOptions options_;
  PredictionNetwork prediction_;
};

}  // namespace penstock::layers
