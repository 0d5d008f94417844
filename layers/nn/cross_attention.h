#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/nn/inner_layer.h"
#include "layers/ops/attention.h"

namespace penstock::layers {

/// The keys and values of a memory, to which the parts of a unit attend.
struct AttendedMemory {
  std::span<const std::int64_t> lengths;  // rows of each utterance
  Tensor kv_MP;        // k of all heads, then v; without data they lie in Context::cache
  Tensor dkv_MP = {};  // out, in backward
};

struct CrossAttentionOptions {
  std::string name;
  std::int64_t channels = 0;  // channels of q and of the output
  std::int64_t heads = 1;
  std::int64_t kv_heads = 0;  // heads of k and v, each of which as many heads of q share; 0: heads
  double dropout = 0;         // dropout of the weights
};

/// The core of cross-attention: from q of each row of a text, it computes the weighted sums of the
/// values of Context::memory. It is a part of CrossAttentionUnit, and has no parameters.
class CrossAttention final : public Layer {
 public:
  /// ShapeError if heads do not divide the channels, or heads of k and v not the heads.
  explicit CrossAttention(CrossAttentionOptions options);

  const std::string& name() const override { return options_.name; }
  /// The memory's rows are those of ActivationDecl::memory, or one of each utterance where it does
  /// not state them.
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  /// ShapeError without a memory, or for an utterance whose memory has no rows.
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

  /// Returns the channels of k, and of v.
  std::int64_t key_channels() const;

 private:
  AttentionGeometry geometry(std::span<const std::int64_t> lengths,
                             std::span<const std::int64_t> keys) const;
  DropoutMask dropout(const Context& context) const;

  CrossAttentionOptions options_;
};

struct CrossAttentionUnitOptions {
  std::string name;
  std::int64_t width = 0;       // channels of the memory and of the text
  std::unique_ptr<Layer> keys;  // makes k and v of the memory, side by side
  std::unique_ptr<Layer> unit;  // a residual unit on the text, whose core is a CrossAttention
};

/// Runs a residual unit on the text, which attends to keys and values of the memory, and passes the
/// memory. In backward, the gradient of the memory that comes through its keys and values is added
/// to the passing one. While texts are written, they are computed once and cached.
class CrossAttentionUnit final : public Layer, public HoldsLayers {
 public:
  explicit CrossAttentionUnit(CrossAttentionUnitOptions options);

  const std::string& name() const override { return name_; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes& sizes) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;
  void backward_weight(Context&, Saved, Grads) const override;

  std::vector<InnerLayer*> inner() override { return {&keys_, &unit_}; }
  std::vector<const InnerLayer*> inner() const override { return {&keys_, &unit_}; }
  std::vector<ActivationDecl> inputs_of_inner(const ActivationDecl& input) const override;

 private:
  Params of_keys(const Params& params) const;
  Params of_unit(const Params& params) const;
  void fill_cache(Context& context, const AttendedMemory& memory) const;

  std::string name_;
  std::int64_t key_columns_;
  InnerLayer keys_, unit_;
};

}  // namespace penstock::layers
