#pragma once

#include "layers/cuda/attention/attention.h"
#include "layers/cuda/products/product.h"

namespace penstock::layers::cuda {

// Attention with heads of more than kMaxHeadChannels channels, such as the 512 of OmniASR's
// language models, whose tiles would not fit into a block's shared memory; and cross-attention of
// any width. cuBLASLt multiplies kProductTile queries of one utterance by all the keys that they
// may see, for all heads in one batch. The scores of one such tile are the largest matrix, and the
// next tile overwrites it. Scores and weights are stored with a row for each key, so that products
// of any length use algorithms that are chosen by the number of their rows. Sums are FP32, and
// weights and ds are rounded to the tensors' type, as in the kernels for narrow heads. No utterance
// meets another in a product, so its bits don't depend on its neighbours.

/// Computes y and log_sums. There are no relative positions.
void attend_by_products(CudaStream& stream, Products& products, const AttentionForward& op,
                        const PreparedAttention& prepared);

/// Computes dqkv, or dq and dkv. `prepared` has been given delta = dy · y in its room.
void attend_by_products_backward(CudaStream& stream, Products& products,
                                 const AttentionBackward& op, const PreparedAttention& prepared);

}  // namespace penstock::layers::cuda
