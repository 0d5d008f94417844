#include "layers/cpu/attention/attention_head.h"
#include "layers/cpu/cpu_backend.h"
#include "layers/cpu/sizes.h"
#include "layers/cpu/softmax_row.h"

namespace penstock::layers {
namespace {

// Computes one head of one utterance, 64 queries at a time, each with all the keys that its tile
// sees. So the workspace grows with the frames, and not with their square. run_product() computes q
// · k and the weighted sums of v.
template <class T>
void attend(const AttentionForward& op, const AttentionScratch<T>& scratch,
            const AttentionPlace& place) {
  const AttentionHead<T, AttentionForward> head(op, scratch, place);
  head.for_tiles([&](const AttentionTile& tile) {
    head.compute_scores(tile);
    for (std::int64_t r = 0; r < tile.rows; ++r) {
      const auto [begin, end] = head.keys_seen_by(tile, r);
      const T log_sum = softmax_row(scratch.weights + r * tile.seen + begin, end - begin);
      head.clear_unseen(tile, r);
      if (T* kept = head.log_sums(tile.first + r)) *kept = log_sum;
    }
    if (op.dropout.probability > 0) head.drop(tile, scratch.weights, scratch.weights);
    run_product(Product<T>{.m = tile.rows,
                           .n = head.width(),
                           .k = tile.seen,
                           .a = {scratch.weights, tile.seen},
                           .b = {head.values(tile.first_seen), head.value_pitch()},
                           .c = head.row_of(op.y_FC, tile.first),
                           .c_stride = op.y_FC.shape[1]});
  });
}

template <class T>
Workspace workspace_of(const AttentionGeometry& geometry, bool relative) {
  return {.forward = AttentionScratch<T>(geometry, relative, false, Scratch()).bytes,
          .backward_input = AttentionScratch<T>(geometry, relative, true, Scratch()).bytes};
}

}  // namespace

Workspace cpu::attention_workspace(const AttentionGeometry& geometry, bool relative, DType dtype) {
  return arithmetic_of(dtype) == DType::f64 ? workspace_of<double>(geometry, relative)
                                            : workspace_of<float>(geometry, relative);
}

template <>
void CpuBackend::compute(Stream& stream, const AttentionForward& op) {
  for_real(op.qkv_FP.dtype, "AttentionForward", [&]<class T>(T) {
    const AttentionScratch<T> scratch(op.geometry, op.relative.r_XC.data != nullptr, false,
                                      Scratch(op.workspace));
    fill_rotary_angles(op.geometry, scratch);
    for_heads(op.geometry, [&](const AttentionPlace& place) {
      attend<T>(op, scratch, place);
      stream.progress();
    });
  });
}

}  // namespace penstock::layers
