#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/layer.h"
#include "layers/ops/attention.h"

namespace penstock::layers {

enum class AttentionPositions {
  none,
  rotary,
  relative,  // Transformer-XL (Dai et al. 2019)
  shaw,      // Shaw et al. (2018)
};

struct AttentionOptions {
  std::string name;
  std::int64_t channels = 0;  // channels of the output and of q
  std::int64_t heads = 1;
  /// Heads of k and v, each of which as many heads of q share; 0: as many as of q.
  std::int64_t kv_heads = 0;
  AttentionPositions positions = AttentionPositions::none;
  double rotary_base = 10000;  // AttentionGeometry::rotary_base, with rotary positions
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;  // context in frames
  std::int64_t left_positions = 64, right_positions = 8;         // clipped distances, with shaw
  double dropout = 0;                                            // dropout of the weights
  /// Frames of the windows into which each utterance is cut (layers/nn/pieces.h), which don't see
  /// each other; 0: it stays whole.
  std::int64_t window = 0;
};

/// The core of multi-head self-attention: from q, k and v of each frame, side by side, it computes
/// the weighted sums of v. Utterances don't see each other. Saved memory grows with the frames, not
/// with their square, since backward recomputes the weights.
///
/// With relative positions (Transformer-XL) it has parameters: "<name>.positions.weight" [channels,
/// channels], which projects the sinusoids of distances, and "<name>.bias_u", "<name>.bias_v"
/// [channels], which start at 0. With Shaw's positions it has "<name>.positions.weight"
/// [left_positions + 1 + right_positions, channels of a head], a row for each clipped distance.
///
/// If it sees no later frames, and has no positions or rotary ones, evaluation with Context::cache
/// goes on where the utterances ended.
class Attention final : public Layer {
 public:
  /// ShapeError if heads do not divide the channels, heads of k and v do not divide the heads or
  /// meet relative positions, rotary positions meet an odd head or a base of 0 or less, windows
  /// meet positions, or a number of frames is negative.
  explicit Attention(AttentionOptions options);

  const std::string& name() const override { return options_.name; }
  const AttentionOptions& options() const { return options_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

 private:
  bool shaw() const { return options_.positions == AttentionPositions::shaw; }
  /// Returns true if the operation gets a row for each distance.
  bool relative() const { return options_.positions == AttentionPositions::relative || shaw(); }
  void check_key_heads() const;
  AttentionGeometry geometry(std::span<const std::int64_t> lengths) const;
  /// Returns the frames of each window.
  std::vector<std::int64_t> windows(std::span<const std::int64_t> lengths) const;
  std::vector<std::int64_t> most_windows(std::span<const std::int64_t> lengths) const;
  /// Returns the keys of the windows' random numbers, if there is any dropout.
  std::vector<std::uint64_t> keys(const Context& context) const;
  DropoutMask dropout(const Context& context, std::span<const std::int64_t> windows,
                      std::span<const std::uint64_t> keys) const;
  void declare_positions(LayerPlan& plan, const ActivationDecl& input) const;
  std::int64_t distance_count() const;  // number of clipped distances of Shaw's positions
  std::vector<ParamDecl> position_params() const;
  /// Returns the operand of AttentionForward and AttentionBackward.
  RelativePositions positions(const Params& params, const Tensor& rows_XC,
                              const Tensor& zeros_C) const;
  /// Writes r_XC (layers/ops/attention.h).
  void make_distances(Context&, const Params&, const Tensor& rows_XC,
                      std::span<std::byte> workspace) const;
  /// Returns true if a row follows from earlier ones, whose keys and values don't change.
  bool goes_on() const { return options_.right == 0 && !relative() && options_.window == 0; }
  void forward_cached(Context&, const Activation& x, Activation& y) const;
  Workspace copies(const BackendSizes& sizes, const FramesDecl& x) const;

  AttentionOptions options_;
};

}  // namespace penstock::layers
