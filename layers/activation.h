#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

/// Declares a matrix of frames before any number is computed: one row for each frame of each
/// utterance, utterances one after the other, without padding.
struct FramesDecl {
  std::vector<std::int64_t> lengths;  // frames of each utterance
  std::int64_t channels = 0;

  std::int64_t rows() const {
    return std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
  }
  Shape shape() const { return {rows(), channels}; }
  bool operator==(const FramesDecl&) const = default;
};

/// Declares what passes from layer to layer, and so over a stage boundary: a short ordered list of
/// matrices, usually one. A loss has an empty one as output. In a decoder that attends to the
/// encoder's output, the first matrix is that output, its memory, and the second one has the text.
struct ActivationDecl {
  DType dtype = DType::f32;
  std::vector<FramesDecl> frames;
  /// `labels` has the number of labels of each utterance, and is empty where they are not known.
  /// Layers' outputs do not repeat it: whoever plans a sequence hands it on.
  std::vector<std::int64_t> labels = {};
  /// True if the rows of each utterance end with its text, one for each label, which a decoder can
  /// write one after the other. Only the layer that puts them there states it, as with `labels`.
  bool ends_with_text = false;
  /// Labels of a text at most; 0: no limit. The layer that puts texts there states it.
  std::int64_t most_labels = 0;
  /// Rows of each utterance's memory, to which a part of a residual unit attends beside its one
  /// matrix (layers/nn/cross_attention.h); empty for other layers.
  std::vector<std::int64_t> memory = {};

  /// Returns the matrix of a layer that takes one. ShapeError if there are none or several.
  const FramesDecl& only() const;
  /// Returns the rows of each utterance, in all matrices.
  std::vector<std::int64_t> rows() const;
  std::size_t bytes() const;
  /// Returns `labels`, or a usual number for the first matrix's frames where they are not known.
  /// ShapeError for another number of utterances.
  std::vector<std::int64_t> labels_or_usual() const;
  bool operator==(const ActivationDecl&) const = default;
};

/// A matrix of frames in memory.
struct Frames {
  Tensor x_FC;
  std::span<const std::int64_t> lengths;

  std::int64_t rows() const { return x_FC.shape[0]; }
  std::int64_t channels() const { return x_FC.shape[1]; }
};

struct Activation {
  std::vector<Frames> frames;

  Frames& only();
  const Frames& only() const;
  bool empty() const { return frames.empty(); }
};

/// Returns views of `decl` in memory that starts at `data`. Matrices follow each other, each
/// aligned. `decl` must outlive the result, which refers to its lengths.
Activation place(const ActivationDecl& decl, std::byte* data);

}  // namespace penstock::layers
