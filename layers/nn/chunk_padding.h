#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layers/layer.h"

namespace penstock::layers {

struct ChunkPaddingOptions {
  std::string name;
  std::int64_t chunk = 0;     // frames of a chunk
  std::int64_t multiple = 1;  // the frames of the last chunk become a multiple of it
};

/// Appends frames of zeros to utterances that are later cut into chunks: the last chunk of each
/// gets as many as make its frames a multiple, but no more than fill the chunk. It has no
/// parameters and saves nothing.
class ChunkPadding final : public Layer {
 public:
  /// ShapeError unless a chunk and the multiple have 1 frame or more.
  explicit ChunkPadding(ChunkPaddingOptions options);

  const std::string& name() const override { return options_.name; }
  LayerPlan plan(const ActivationDecl& input, const BackendSizes&) const override;
  void forward(Context&, const Params&, const Activation& x, Activation& y, Saved) const override;
  void backward_input(Context&, const Params&, const Activation& dy, Saved,
                      Activation& dx) const override;

 private:
  /// Returns the frames of an utterance of `frames` after this layer.
  std::int64_t padded(std::int64_t frames) const;

  ChunkPaddingOptions options_;
};

}  // namespace penstock::layers
