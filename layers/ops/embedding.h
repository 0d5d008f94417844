#pragma once

#include <cstdint>
#include <span>

#include "layers/tensor/tensor.h"

namespace penstock::layers {

// These operations look up rows of a table, one for each position of a text. Ids are i32 in the
// backend's memory, so a layer copies them in once and all its operations read them. An id of -1,
// which is no row, stands for the start of a text. Kernels index by ids without a check: a layer
// calls expect_ids() while the ids are on the host.

/// Computes y[p] = table[ids[p]], or 0 where ids[p] is -1.
struct EmbeddingForward {
  Tensor ids_P;
  Tensor table_VE;
  Tensor y_PE;
};

/// Adds the gradient of the table: dtable[ids[p]] += dy[p], row after row in the order of
/// positions. Positions of id -1 add nothing.
struct EmbeddingBackwardWeight {
  Tensor ids_P;
  Tensor dy_PE;
  Tensor dtable_VE;  // f32, or f64 under f64
};

/// ShapeError for an id that is neither -1 nor a row of a table with so many.
void expect_ids(std::span<const std::int32_t> ids, std::int64_t rows);

// Operands that may be in half precision. See layers/cpu/halves/half_backend.h.

template <class Operands>
void operands(Operands& w, EmbeddingForward& op) {
  w.reads(op.table_VE);
  w.writes(op.y_PE);
}

template <class Operands>
void operands(Operands& w, EmbeddingBackwardWeight& op) {
  w.reads(op.dy_PE);
}

}  // namespace penstock::layers
