#include "layers/cpu/attention/attention_head.h"
#include "layers/cpu/cpu_backend.h"

namespace penstock::layers {
namespace {

// Backward of one head of one utterance, after FlashAttention-2 (Dao 2023). Tiles of 64 queries
// recompute their weights from the saved log-sum-exp. dk and dv are summed over tiles in the
// workspace, in the order of the tiles, and dq is written tile by tile. Heads that share k and v
// follow each other and add to the same sums, which the last of them writes. run_product() computes
// all products.
template <class T>
class HeadBackward {
 public:
  HeadBackward(const AttentionBackward& op, const AttentionScratch<T>& scratch,
               const AttentionPlace& place)
      : op_(op), scratch_(scratch), head_(op, scratch, place), d_(head_.width()) {}

  void run() {
    const std::int64_t keys = head_.place().keys, group = op_.geometry.group();
    const std::int64_t of_group = head_.place().head % group;
    if (of_group == 0) {
      std::fill_n(scratch_.d_keys, keys * d_, T{0});
      std::fill_n(scratch_.d_values, keys * d_, T{0});
    }
    head_.for_tiles([&](const AttentionTile& tile) {
      recompute_weights(tile);
      values_gradient(tile);
      scores_gradient(tile);
      queries_and_keys_gradient(tile);
      if (head_.relative()) positions_gradient(tile);
      if (op_.dqkv_FP.data == nullptr) return;
      for (std::int64_t r = 0; r < tile.rows; ++r)
        head_.copy_rotated(tile.first + r, scratch_.d_queries + r * d_,
                           head_.row_of(op_.dqkv_FP, tile.first + r), head_.scale(), nullptr, true);
    });
    const Tensor& to = op_.geometry.cross() ? op_.dkv_MP : op_.dqkv_FP;
    if (to.data == nullptr || of_group + 1 < group) return;
    for (std::int64_t j = 0; j < keys; ++j) {
      head_.copy_rotated(j, scratch_.d_keys + j * d_, head_.key_row(to, j), T(1), nullptr, true);
      std::copy_n(scratch_.d_values + j * d_, d_, head_.value_row(to, j));
    }
  }

 private:
  // Recomputes p = e^(s - log Σ e^s). `dropped` becomes the weights that forward multiplied v by.
  void recompute_weights(const AttentionTile& tile) {
    head_.compute_scores(tile);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      T* row = scratch_.weights + r * tile.seen;
      const T log_sum = *head_.log_sums(tile.first + r);
      for_each_vector<T>(tile.seen, [&](std::int64_t c, auto lanes) {
        store<T>(row + c, exp(load<T>(row + c, lanes) - log_sum), lanes);
      });
      head_.clear_unseen(tile, r);
    }
    if (drops()) head_.drop(tile, scratch_.weights, scratch_.dropped);
  }

  bool drops() const { return op_.dropout.probability > 0; }

  // Adds Σ_i p_ij dy_i to dv_j.
  void values_gradient(const AttentionTile& tile) {
    run_product(Product<T>{.m = tile.seen,
                           .n = d_,
                           .k = tile.rows,
                           .a = {drops() ? scratch_.dropped : scratch_.weights, tile.seen, true},
                           .b = {head_.row_of(op_.dy_FC, tile.first), op_.dy_FC.shape[1]},
                           .c = scratch_.d_values + tile.first_seen * d_,
                           .c_stride = d_,
                           .beta = 1});
  }

  // Computes ds_ij = p_ij (dp_ij - delta_i) in d_weights, with FlashAttention-2's delta_i = dy_i ·
  // y_i.
  void scores_gradient(const AttentionTile& tile) {
    run_product(Product<T>{.m = tile.rows,
                           .n = tile.seen,
                           .k = d_,
                           .a = {head_.row_of(op_.dy_FC, tile.first), op_.dy_FC.shape[1]},
                           .b = {head_.values(tile.first_seen), head_.value_pitch(), true},
                           .c = scratch_.d_weights,
                           .c_stride = tile.seen});
    if (drops()) head_.drop(tile, scratch_.d_weights, scratch_.d_weights);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const T* dy = head_.row_of(op_.dy_FC, tile.first + r);
      const T* y = head_.row_of(op_.y_FC, tile.first + r);
      T through_sum = 0;
      for (std::int64_t c = 0; c < d_; ++c) through_sum += dy[c] * y[c];
      const T* p = scratch_.weights + r * tile.seen;
      T* ds = scratch_.d_weights + r * tile.seen;
      for (std::int64_t c = 0; c < tile.seen; ++c) ds[c] = p[c] * (ds[c] - through_sum);
    }
  }

  // Computes the gradients of q + u, without the factor 1/√d, and of k, which gets that factor from
  // the scaled queries.
  void queries_and_keys_gradient(const AttentionTile& tile) {
    run_product(Product<T>{.m = tile.rows,
                           .n = d_,
                           .k = tile.seen,
                           .a = {scratch_.d_weights, tile.seen},
                           .b = {scratch_.keys + tile.first_seen * d_, d_},
                           .c = scratch_.d_queries,
                           .c_stride = d_});
    if (head_.relative()) add_bias_gradient(tile, op_.du_C);
    run_product(Product<T>{.m = tile.seen,
                           .n = d_,
                           .k = tile.rows,
                           .a = {scratch_.d_weights, tile.seen, true},
                           .b = {scratch_.queries, d_},
                           .c = scratch_.d_keys + tile.first_seen * d_,
                           .c_stride = d_,
                           .beta = 1});
  }

  // Adds the gradients of r and v, and the part of dq that comes through r. ds is first moved into
  // the band, where each number is in the column of its distance.
  void positions_gradient(const AttentionTile& tile) {
    const std::int64_t columns = tile.distances(), C = head_.channels();
    const std::int64_t first = head_.first_distance(tile) * C + head_.place().head * d_;
    std::fill_n(scratch_.band, tile.rows * columns, T{0});
    for (std::int64_t r = 0; r < tile.rows; ++r)
      std::copy_n(scratch_.d_weights + r * tile.seen, tile.seen,
                  scratch_.band + r * columns + tile.rows - 1 - r);
    run_product(Product<T>{.m = columns,
                           .n = d_,
                           .k = tile.rows,
                           .a = {scratch_.band, columns, true},
                           .b = {scratch_.positioned, d_},
                           .c = op_.dr_XC.template as<T>() + first,
                           .c_stride = C,
                           .beta = 1});
    T* of_v = scratch_.positioned;  // reused: its numbers have been multiplied
    run_product(Product<T>{.m = tile.rows,
                           .n = d_,
                           .k = columns,
                           .a = {scratch_.band, columns},
                           .b = {op_.relative.r_XC.template as<T>() + first, C},
                           .c = of_v,
                           .c_stride = d_});
    std::swap_ranges(of_v, of_v + tile.rows * d_, scratch_.d_queries);
    add_bias_gradient(tile, op_.dv_C);
    for (std::int64_t i = 0; i < tile.rows * d_; ++i) scratch_.d_queries[i] += of_v[i];
  }

  // Adds the column sums of d_queries, over √d, to a bias's gradient.
  void add_bias_gradient(const AttentionTile& tile, const Tensor& gradient_C) {
    T* to = gradient_C.as<T>() + head_.place().head * d_;
    for (std::int64_t c = 0; c < d_; ++c) {
      T sum = 0;
      for (std::int64_t r = 0; r < tile.rows; ++r) sum += scratch_.d_queries[r * d_ + c];
      to[c] += head_.scale() * sum;
    }
  }

  const AttentionBackward& op_;
  const AttentionScratch<T>& scratch_;
  AttentionHead<T, AttentionBackward> head_;
  std::int64_t d_;
};

/// Zeroes a gradient to which every head and tile adds, if it is asked for.
template <class T>
void zero_numbers(const Tensor& tensor) {
  if (tensor.data != nullptr) std::fill_n(tensor.as<T>(), tensor.size(), T{0});
}

}  // namespace

template <>
void CpuBackend::compute(Stream& stream, const AttentionBackward& op) {
  for_real(op.qkv_FP.dtype, "AttentionBackward", [&]<class T>(T) {
    const AttentionScratch<T> scratch(op.geometry, op.relative.r_XC.data != nullptr, true,
                                      Scratch(op.workspace));
    fill_rotary_angles(op.geometry, scratch);
    for (const Tensor* sums : {&op.dr_XC, &op.du_C, &op.dv_C}) zero_numbers<T>(*sums);
    for_heads(op.geometry, [&](const AttentionPlace& place) {
      HeadBackward<T>(op, scratch, place).run();
      stream.progress();
    });
  });
}

}  // namespace penstock::layers
