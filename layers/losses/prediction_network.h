#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

struct ResidualLayout;

/// Kind of a transducer's prediction network, which reads the labels that are written:
///   lstm       embedding, LSTM layers, projection (Graves 2012)
///   stateless  embedding of the last label, or of the last two with a grouped convolution and a
///              ReLU over them, and projection (Ghodsi et al. 2020, as in icefall)
enum class PredictionKind { lstm, stateless };

struct PredictionOptions {
  PredictionKind kind = PredictionKind::lstm;
  std::int64_t embedding = 0;           // channels of a label's embedding
  std::int64_t layers = 1, hidden = 0;  // layers and channels of an LSTM
  std::int64_t context = 2;             // labels that a stateless network reads: 1 or 2
};

/// Channels in a group of a stateless network's convolution. icefall has as many.
inline constexpr std::int64_t kPredictionGroup = 4;

/// Computes a row for each number of labels that may be written, from the ids of a text's start and
/// of its labels: P = U + 1 positions of each text, one text after the other. It is a part of the
/// Transducer layer, whose inputs are no frames.
///
/// Parameters after the layer's name, in order: "embedding.weight" [classes, embedding]; of an
/// LSTM, for each layer from 1 on, "lstm1.input.weight", "lstm1.input.bias", "lstm1.weight",
/// "lstm1.bias" as Linear and Recurrence have them; of a stateless network with context 2,
/// "conv.weight" [embedding, 4, 2]; "projection.weight" [out, last width] and "projection.bias"
/// [out].
///
/// In a Context, `lengths` are the positions of each text.
class PredictionNetwork {
 public:
  /// ShapeError if the options describe no network.
  PredictionNetwork(const std::string& name, std::int64_t classes, std::int64_t out,
                    const PredictionOptions& options);

  /// Returns parameters, saved tensors, workspace and work for texts of so many positions. All
  /// saved tensors are for weights alone: without trained weights nobody runs backward.
  LayerPlan plan(std::span<const std::int64_t> positions, const BackendSizes& sizes) const;

  /// Computes `predicted_PJ` from `ids_P` (i32). Without `saved`, nothing is kept for backward.
  void forward(Context&, std::span<const Tensor> weights, const Tensor& ids_P,
               const Tensor& predicted_PJ, Saved saved) const;
  /// Computes what backward_weight needs from the gradient of the output: f32, or f64 under f64.
  void backward_input(Context&, std::span<const Tensor> weights, const Tensor& dpredicted_PJ,
                      Saved saved) const;
  void backward_weight(Context&, const Tensor& ids_P, Saved saved, Grads grads) const;

 private:
  ResidualLayout layout(std::span<const std::int64_t> positions, const BackendSizes& sizes) const;
  ResidualLayout layout(const Context& context, DType dtype) const;

  ParamDecl table_;
  std::vector<std::unique_ptr<Layer>> parts_;  // after the embedding
};

}  // namespace penstock::layers
