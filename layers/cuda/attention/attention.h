#pragma once

#include "layers/cuda/attention/attention_tile.h"
#include "layers/cuda/core/cuda_stream.h"
#include "layers/cuda/core/launch.h"
#include "layers/cuda/core/utterances_sizes.h"

namespace penstock::layers::cuda {

/// Fills the workspace of one attention operation, and holds what its kernels need besides the
/// tensors: tiles, dropout streams and rotary tables.
class PreparedAttention {
 public:
  /// `Op` is AttentionForward or AttentionBackward. Throws DeviceError if heads have more than
  /// kMaxHeadChannels channels and there are relative positions. It also throws if f16 or bf16
  /// attention has both rotary and relative positions. Relative positions need as many heads of k
  /// as of q.
  template <class Op>
  PreparedAttention(CudaStream& stream, const Op& op, bool backward)
      : PreparedAttention(stream, op.geometry, op.dropout, op.workspace,
                          {op.relative.r_XC.data != nullptr, backward, op.qkv_FP.dtype}) {}

  const AttentionWorkspace& room() const { return room_; }
  bool by_products() const { return multiplies_by_products(geometry_); }
  /// One block for each tile of frames and head.
  Grid grid() const { return grid(room_.tile_count); }
  Grid grid(std::int64_t tiles) const;
  /// One block for each tile of frames and head of k.
  Grid keys_grid() const;

  template <class T, class Op>
  AttentionInput<T> input(const Op& op) const {
    const bool relative = op.relative.r_XC.data != nullptr, turns = geometry_.rotary_base != 0;
    return {
        .qkv_FP = data_of<T>(op.qkv_FP),
        .r_XC = relative ? data_of<T>(op.relative.r_XC) : nullptr,
        .u_C = relative ? data_of<float>(op.relative.u_C) : nullptr,
        .v_C = relative ? data_of<float>(op.relative.v_C) : nullptr,
        .cosines = turns ? room_.cosines : nullptr,
        .sines = turns ? room_.sines : nullptr,
        .log_sums_HF = op.log_sums_HF.data == nullptr ? nullptr : data_of<float>(op.log_sums_HF),
        .tiles = room_.tiles,
        .random_UH = room_.random_UH,
        .key_biases_HF = room_.key_biases_HF,
        .distance_biases_HX = room_.distance_biases_HX,
        .drop_limit = drop_limit_,
        .keep_factor = keep_factor_,
        .scale = scale_,
        .rows = rows_of(geometry_.lengths),
        .left = geometry_.left,
        .right = geometry_.right,
        .longest = geometry_.longest(),
        .heads = static_cast<int>(geometry_.heads),
        .channels = static_cast<int>(geometry_.channels),
        .width = static_cast<int>(geometry_.head_channels()),
        .group = static_cast<int>(geometry_.group())};
  }

 private:
  PreparedAttention(CudaStream& stream, const AttentionGeometry& geometry,
                    const DropoutMask& dropout, std::span<std::byte> workspace,
                    const AttentionWorkspaceFor& use);
  void fill_angles(CudaStream& stream) const;

  AttentionGeometry geometry_;
  Scratch scratch_;
  AttentionWorkspace room_;
  int tile_threads_;
  std::uint64_t drop_limit_;
  float keep_factor_, scale_;
};

}  // namespace penstock::layers::cuda
