#pragma once

#include "layers/cpu/products/packed_product.h"
#include "layers/cpu/vector.h"
#include "layers/ops/recurrence.h"
#include "layers/scratch.h"

namespace penstock::layers {

/// Parts of the forward workspace. Directions run one after the other and share them.
template <class T>
struct ForwardScratch {
  ForwardScratch(const RecurrenceShape& shape, Scratch scratch)
      : stride(whole_vectors<T>(shape.gates() * shape.hidden)) {
    const std::size_t utterances = shape.lengths.size(), hidden = shape.hidden;
    weights =
        scratch.take<std::byte>(PackedFactor<T>::bytes(shape.hidden, shape.gates() * shape.hidden));
    u = scratch.take<T>(utterances * stride);
    states = scratch.take<T>(utterances * hidden);
    cells = scratch.take<T>(utterances * hidden);
    unread = scratch.take<T>(shape.kept() * hidden);
    bytes = scratch.used();
  }

  std::int64_t stride;
  std::byte* weights;  // U^T, packed
  T* u;                // U h of a step, a row for each active utterance
  T *states, *cells;   // h and s of each utterance, in evaluation
  T* unread;           // a sink for numbers that are never read
  std::size_t bytes;
};

/// Parts of the backward workspace.
template <class T>
struct BackwardScratch {
  BackwardScratch(const RecurrenceShape& shape, Scratch scratch)
      : stride(whole_vectors<T>(shape.hidden)) {
    const std::size_t states = shape.lengths.size() * stride;
    const bool two_factors = shape.kind == RecurrenceKind::gru;
    const std::int64_t rows = (shape.gates() - (two_factors ? 1 : 0)) * shape.hidden;
    weights = scratch.take<std::byte>(PackedFactor<T>::bytes(rows, shape.hidden));
    weights_n = scratch.take<std::byte>(
        two_factors ? PackedFactor<T>::bytes(shape.hidden, shape.hidden) : 0);
    dh = scratch.take<T>(states);
    ds = scratch.take<T>(states);
    bytes = scratch.used();
  }

  std::int64_t stride;
  std::byte* weights;    // U, packed; for a GRU the rows of r and z
  std::byte* weights_n;  // for a GRU the rows of n
  T *dh, *ds;            // gradients of the states, a row for each utterance
  std::size_t bytes;
};

}  // namespace penstock::layers
