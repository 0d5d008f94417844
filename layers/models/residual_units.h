#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>

#include "layers/layer.h"
#include "layers/nn/attention.h"
#include "layers/ops/gate.h"
#include "layers/ops/nonlinearity.h"

namespace penstock::layers {

// The residual units of Transformers and Conformers, each with its layer norm first (pre-norm) and
// dropout last: y = x + scale · dropout(f(norm(x))). Parts are named "<name>.<part>". With a
// layer_drop, that share of the utterances passes by the parts (layers/nn/layer_drop.h). A unit of
// a post-norm block has no norm in it: a layer of its own, "<name>.norm", follows in the model's
// sequence, also of what passed by.

/// Between both products. Gates want a first one that is twice as wide.
using FeedForwardActivation = std::variant<NonlinearityKind, GateKind>;

struct FeedForwardOptions {
  std::string name;
  std::int64_t width = 0, inner = 0;  // channels
  FeedForwardActivation activation = NonlinearityKind::silu;
  bool norm_first = true;  // false: no norm
  bool centred = true;     // false: RMSNorm
  double scale = 1;        // 1/2 in a Conformer
  bool bias = true;        // of both products
  double dropout = 0;
  bool output_dropout = true;  // what comes out is dropped as well
  double layer_drop = 0;
};

/// [norm] linear1 act|gate [act_dropout] linear2 [dropout]
std::unique_ptr<Layer> feed_forward_unit(const FeedForwardOptions& options);

struct AdapterUnitOptions {
  std::string name;
  std::int64_t width = 0, inner = 0;  // channels
};

/// norm linear1 relu linear2: a bottleneck (Houlsby et al. 2019) that is never dropped.
std::unique_ptr<Layer> adapter_unit(const AdapterUnitOptions& options);

struct AttentionUnitOptions {
  std::string name;
  std::int64_t width = 0, heads = 1;
  AttentionPositions positions = AttentionPositions::none;
  std::int64_t left = kWholeUtterance, right = kWholeUtterance;  // frames of context
  std::int64_t left_positions = 64, right_positions = 8;  // of Shaw's (layers/nn/attention.h)
  bool norm_first = true;                                 // false: no norm
  bool centred = true;                                    // false: RMSNorm
  bool bias = true;            // of both products; that of positions has none
  double dropout = 0;          // of the weights
  bool output_dropout = true;  // and of what comes out
  double layer_drop = 0;
};

/// [norm] qkv core output [dropout]
std::unique_ptr<Layer> attention_unit(const AttentionUnitOptions& options);

enum class ConvolutionNorm { batch, layer };

struct ConvolutionUnitOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t kernel = 31;  // frames, odd
  bool causal = false;       // sees no later frames; else as many as earlier ones
  ConvolutionNorm norm = ConvolutionNorm::batch;
  bool bias = true;    // of both products and of the convolution
  double dropout = 0;  // of what comes out
  double layer_drop = 0;
};

/// norm pointwise1 depthwise batch_norm pointwise2 [dropout], where depthwise is gated and
/// batch_norm goes through SiLU: what lies between the gate, the norm and SiLU is not kept. With a
/// layer norm, "depthwise_norm act" are in batch_norm's place.
std::unique_ptr<Layer> convolution_unit(const ConvolutionUnitOptions& options);

struct ConvolutionalPositionsOptions {
  std::string name;
  std::int64_t width = 0;
  std::int64_t kernel = 128;
  std::int64_t groups = 16;
  bool weight_norm = true;  // of the convolution
};

/// conv act, without a norm: x + GELU(convolution over frames), as wav2vec 2.0 tells frames apart.
/// Of an even kernel, the frame too many is the first.
std::unique_ptr<Layer> convolutional_positions(const ConvolutionalPositionsOptions& options);

}  // namespace penstock::layers
