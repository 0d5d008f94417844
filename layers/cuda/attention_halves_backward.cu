#include "layers/cuda/attention_halves_launch.h"
#include "layers/cuda/halves_positions.h"

namespace penstock::layers::cuda {
namespace {

/// Computes dq of a tile's frames as in FlashAttention-2: it recomputes the weights from the saved
/// log-sum-exp, and ds from them and delta. Block (tile, head); each warp owns 16 queries.
///
/// q and dy stay in registers as operands. The 64 × 32 scores, ds and dq are accumulators, so that
/// ds needs no shared memory to multiply k. Static shared memory is 47.5 KiB at width 128.
template <class T, int kWidth>
__global__ void queries_backward_halves(AttentionInput<T> in, AttentionOutputs<T> out) {
  using Row = HalvesRow<T, kWidth>;
  BLOCK_SHARED(Row, keys, [kHalvesColumns]);
  BLOCK_SHARED(Row, others, [kHalvesBandRows]);  // q, dy, then v and r
  BLOCK_SHARED(BandRow<kDistanceBlocks>, bands, [kHalvesTile]);
  BLOCK_SHARED(float, key_biases, [kHalvesColumns]);
  BLOCK_SHARED(float, distance_biases, [kHalvesBandRows]);
  const AttentionHead<T> of{in, in.tiles[block_x()], static_cast<int>(block_y())};
  const int own_first = 16 * warp_of_block();
  const std::int64_t first = of.tile.first;
  const QueryPositions<T, kWidth> positions{others, bands + own_first, key_biases, distance_biases};
  load_rows(in, part_rows(of, AttentionPart::query), first, kHalvesTile, others);
  sync_block();
  const OwnRows<T, kWidth> queries(others + own_first);
  sync_block();
  load_rows(in, output_rows(of, out.dy_FC), first, kHalvesTile, others);
  sync_block();
  const OwnRows<T, kWidth> gradients(others + own_first);
  const QuerySums sums[2] = {
      query_sums(of, out.through_sums_HF, first + own_first + FragmentC::row(0)),
      query_sums(of, out.through_sums_HF, first + own_first + FragmentC::row(2))};
  FragmentC dq[kWidth / 8];
  const TileRange seen = seen_by(in, of.tile, {kHalvesTile, kHalvesColumns});
  for (std::int64_t key = seen.first; key < seen.end; key += kHalvesColumns) {
    sync_block();
    load_rows(in, part_rows(of, AttentionPart::key), key, kHalvesColumns, keys);
    load_rows(in, part_rows(of, AttentionPart::value), key, kHalvesColumns, others);
    sync_block();
    FragmentC scores[kColumnTiles], weights[kColumnTiles];
    multiply_transposed(gradients, others, weights);
    multiply_transposed(queries, keys, scores);
    if (in.r_XC != nullptr) {
      sync_block();
      positions.load(of, key);
      sync_block();
      positions.add(queries, scores);
    }
    for_numbers([&](int n, int e, int row, int column) {
      weigh_pair(of, sums[e / 2], {first + own_first + row, key + column}, scores[n].values[e],
                 weights[n].values[e]);
    });
    multiply_rounded<T>(scores, keys, dq);
    if (in.r_XC != nullptr) positions.multiply(scores, dq);
  }
  const HeadRows<T> to{out.dqkv_FP + of.element(0, 3 * in.channels), 3 * in.channels,
                       of.tile.frames, in.cosines != nullptr};
  store_sums(in, to, first + own_first, dq, {in.scale, in.scale});
}

}  // namespace

template <class T>
void launch_halves_queries_backward(CudaStream& stream, const Grid& grid,
                                    const AttentionInput<T>& in, const AttentionOutputs<T>& out) {
  with_width(in.width, [&]<int kWidth>(std::integral_constant<int, kWidth>) {
    launch(stream.handle(), grid, queries_backward_halves<T, kWidth>, in, out);
  });
}

#define FOR_TYPE(T)                                                                                \
  template void launch_halves_queries_backward(CudaStream&, const Grid&, const AttentionInput<T>&, \
                                               const AttentionOutputs<T>&);
FOR_TYPE(__half)
FOR_TYPE(__nv_bfloat16)
#undef FOR_TYPE

}  // namespace penstock::layers::cuda
