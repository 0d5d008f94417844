#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "base/key.h"
#include "layers/layer.h"
#include "layers/nn/attention.h"
#include "layers/ops/elementwise.h"

namespace penstock::layers {

// The residual units of Transformers and Conformers, each with its layer norm first (pre-norm) and
// dropout last: y = x + scale · dropout(f(norm(x))). Parts are named "<name>.<part>". With a
// layer_drop, that share of the utterances skips the parts (layers/nn/layer_drop.h). A unit of a
// post-norm block contains no norm: a layer of its own, "<name>.norm", follows in the model's
// sequence and also normalises dropped utterances.

struct Relu {};

/// The activation between both products. A gate doubles the width of the first product's output.
using FeedForwardActivation = std::variant<NonlinearityKind, GateKind, Relu>;

struct FeedForwardOptions {
  std::string name;
  std::int64_t width = 0, inner = 0;  // channels
  FeedForwardActivation activation = NonlinearityKind::silu;
  bool norm_first = true;  // false: no norm
  bool centred = true;     // false: RMSNorm
  double epsilon = 1e-5;   // of the norm
  double scale = 1;        // 1/2 in a Conformer
  bool bias = true;        // biases of both products
  double dropout = 0;
  bool output_dropout = true;  // the output is dropped as well
  double layer_drop = 0;
};

/// Parts: [norm] linear1 act|gate [act_dropout] linear2 [dropout]
std::unique_ptr<Layer> feed_forward_unit(const FeedForwardOptions& options);

struct AdapterUnitOptions {
  std::string name;
  std::int64_t width = 0, inner = 0;  // channels
};

/// Parts: norm linear1 relu linear2. A bottleneck (Houlsby et al. 2019) that is never dropped.
std::unique_ptr<Layer> adapter_unit(const AdapterUnitOptions& options);

struct AttentionUnitOptions {
  std::string name;
  std::int64_t width = 0, heads = 1;
  std::int64_t kv_heads = 0;       // heads of k and v, shared by heads of q; 0: as many as of q
  std::int64_t head_channels = 0;  // 0: width / heads
  AttentionPositions positions = AttentionPositions::none;
  double rotary_base = 10000;                                    // with rotary positions
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;  // context in frames
  std::int64_t left_positions = 64, right_positions = 8;         // Shaw's (layers/nn/attention.h)
  bool norm_first = true;                                        // false: no norm
  bool centred = true;                                           // false: RMSNorm
  double epsilon = 1e-5;                                         // of every norm of the unit
  bool qk_norm = false;        // RMSNorm of each head of q and k (layers/nn/head_norm.h)
  bool bias = true;            // biases of qkv and output; positions have none
  bool key_bias = true;        // if they have some, keys too
  double dropout = 0;          // dropout of the weights
  bool output_dropout = true;  // dropout of the output as well
  double layer_drop = 0;
  std::int64_t window = 0;  // AttentionOptions::window
};

/// Parts: [norm] qkv [qk_norm] core output [dropout]
std::unique_ptr<Layer> attention_unit(const AttentionUnitOptions& options);

/// Parts: kv of the memory, then [norm] q core output [dropout] of the text: cross-attention, as
/// layers/nn/cross_attention.h describes it. It has neither positions, a limited context, windows
/// nor layer drop.
std::unique_ptr<Layer> cross_attention_unit(const AttentionUnitOptions& options);

enum class ConvolutionNorm { batch, layer };

struct ConvolutionUnitOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t kernel = 31;  // frames, odd
  bool causal = false;       // sees no later frames, instead of as many as earlier ones
  ConvolutionNorm norm = ConvolutionNorm::batch;
  bool bias = true;    // biases of both products and of the convolution
  double dropout = 0;  // dropout of the output
  double layer_drop = 0;
};

/// Parts: norm pointwise1 depthwise batch_norm pointwise2 [dropout]. depthwise is gated, and
/// batch_norm includes SiLU, so nothing between gate, norm and SiLU is saved. With a layer norm,
/// "depthwise_norm act" take batch_norm's place.
std::unique_ptr<Layer> convolution_unit(const ConvolutionUnitOptions& options);

struct ConvolutionalPositionsOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t kernel = 128;
  std::int64_t groups = 16;
  bool weight_norm = true;  // weight normalisation of the convolution
};

/// Parts: conv act, without a norm: x + GELU(convolution over frames), the positions of wav2vec
/// 2.0. An even kernel sees one frame more before the present one than after it.
std::unique_ptr<Layer> convolutional_positions(const ConvolutionalPositionsOptions& options);

// Keys of the families whose attention may see a part of each utterance. They count frames after
// the subsampling and hold for each block, so the context of several blocks adds up.

/// Returns the key; `frames` must outlive it. -1 stands for all frames.
[[nodiscard]] Key left_context_key(int* frames);
[[nodiscard]] Key right_context_key(int* frames);

/// Converts a key's value to that of AttentionOptions.
[[nodiscard]] std::int64_t frames_of_context(int frames);

}  // namespace penstock::layers
