#include <algorithm>

#include "layers/cuda/attention/attention_products.h"
#include "layers/cuda/core/reduce.h"

namespace penstock::layers::cuda {
namespace {

/// Queries of one utterance, and the keys that the window lets any of them see.
struct ProductTile {
  AttentionTilePlace place;  // first: the first query
  std::int64_t queries;
  std::int64_t first_key, keys;
  std::int64_t head_numbers;  // scores between those of one head and of the next
};

constexpr int kColumns = kWarp, kSlices = 8;  // of a block that weighs: queries, and shares of keys

/// Rotates q and k of one utterance. One thread for each of their channels.
template <class T>
__global__ void turn(AttentionInput<T> in, AttentionTilePlace place, T* turned_FQ) {
  const std::int64_t columns = in.channels + in.key_channels(), i = grid_thread();
  if (i >= place.frames * columns) return;
  const std::int64_t frame = i / columns, row = place.utterance_row + frame;
  const int column = static_cast<int>(i % columns), c = column % in.width, half = in.width / 2;
  const T* const x = in.qkv_FP + row * in.columns() + column - c;
  const float other = c < half ? -to_float(x[c + half]) : to_float(x[c - half]);
  const std::int64_t angle = frame * half + c % half;
  turned_FQ[row * columns + column] =
      from_float<T>(to_float(x[c]) * in.cosines[angle] + other * in.sines[angle]);
}

/// Turns scores into weights, and stores their log-sum-exp. Block (32 queries, head) has a warp for
/// every eighth key, whose lanes take one query each. The warps' sums are combined in their order.
template <class T>
__global__ void weigh(AttentionInput<T> in, ProductTile tile, const float* scores_HKQ,
                      T* weights_HKQ) {
  BLOCK_SHARED(float, largest, [kSlices][kColumns]);
  BLOCK_SHARED(float, sums, [kSlices][kColumns]);
  const int lane = thread_x() % kColumns, slice = thread_x() / kColumns;
  const std::int64_t column = block_x() * kColumns + lane, i = tile.place.first + column;
  const AttentionHead<T> of{in, tile.place, static_cast<int>(block_y())};
  const std::int64_t keys = column < tile.queries ? tile.keys : 0;
  const float* const scores = scores_HKQ + of.head * tile.head_numbers + column;
  float max = -INFINITY, sum = 0;
  for (std::int64_t k = slice; k < keys; k += kSlices) {
    if (!of.sees(i, tile.first_key + k)) continue;
    const float score = in.scale * scores[k * kProductTile], m = fmaxf(max, score);
    sum = sum * expf(max - m) + expf(score - m);
    max = m;
  }
  largest[slice][lane] = max;
  sums[slice][lane] = sum;
  __syncthreads();
  float all = largest[0][lane], total = 0;
  for (int s = 1; s < kSlices; ++s) all = fmaxf(all, largest[s][lane]);
  for (int s = 0; s < kSlices; ++s)
    total += largest[s][lane] == -INFINITY ? 0.0f : sums[s][lane] * expf(largest[s][lane] - all);
  const float log_sum = all + logf(total);
  if (slice == 0 && keys > 0 && in.log_sums_HF != nullptr) *of.log_sum(i) = log_sum;
  T* const weights = weights_HKQ + of.head * tile.head_numbers + column;
  for (std::int64_t k = slice; k < keys; k += kSlices) {
    const std::int64_t j = tile.first_key + k;
    const float weight = of.sees(i, j) ? expf(in.scale * scores[k * kProductTile] - log_sum) : 0.0f;
    weights[k * kProductTile] = from_float<T>(weight == 0 ? 0.0f : weight * of.kept(i, j));
  }
}

/// A tile's scores and dp, and the weights and ds that follow from them.
template <class T>
struct TileGradients {
  const float *scores_HKQ, *d_weights_HKQ, *delta_HF;
  T *weights_HKQ, *ds_HKQ;
};

/// Recomputes the weights, and computes ds with the scale of the scores. Thread (key and query),
/// block row: head.
template <class T>
__global__ void weigh_backward(AttentionInput<T> in, ProductTile tile, TileGradients<T> of_tile) {
  const std::int64_t thread = grid_thread();
  if (thread >= tile.keys * tile.queries) return;
  const AttentionHead<T> of{in, tile.place, static_cast<int>(block_y())};
  const std::int64_t k = thread / tile.queries, column = thread % tile.queries;
  const std::int64_t at = of.head * tile.head_numbers + k * kProductTile + column;
  float p;
  const float ds =
      of.score_gradient(of_tile.delta_HF, tile.place.first + column, tile.first_key + k,
                        in.scale * of_tile.scores_HKQ[at], of_tile.d_weights_HKQ[at], p);
  of_tile.weights_HKQ[at] = from_float<T>(p);
  of_tile.ds_HKQ[at] = from_float<T>(in.scale * ds);
}

/// FP32 gradients of successive frames, and where they go.
template <class T>
struct GradientRows {
  std::int64_t first, count;  // frames, within their utterance
  int columns;                // channels of all heads of a row
  const float* from_RC;
  T* to;               // of the first frame
  std::int64_t pitch;  // numbers between the frames of `to`
  bool turned;         // by rotary positions
};

/// Rounds gradients, after it has rotated them back. One thread for each number.
template <class T>
__global__ void store_rows(AttentionInput<T> in, GradientRows<T> rows) {
  const std::int64_t i = grid_thread();
  if (i >= rows.count * rows.columns) return;
  const std::int64_t row = i / rows.columns, frame = rows.first + row;
  const int column = static_cast<int>(i % rows.columns), c = column % in.width;
  const float* const x = rows.from_RC + i - c;
  float value = x[c];
  if (rows.turned) {
    const int half = in.width / 2;
    const std::int64_t angle = frame * half + c % half;
    const float other = c < half ? x[c + half] : -x[c - half];
    value = value * in.cosines[angle] + other * in.sines[angle];
  }
  rows.to[row * rows.pitch + column] = from_float<T>(value);
}

/// The place of q, k or v of all heads, or of their gradients.
struct PartColumns {
  const Tensor& matrix;
  std::int64_t before;  // columns before them
};

/// Computes the utterances of a micro-batch one after the other.
template <class T>
class AttentionByProducts {
 public:
  /// `Op` is AttentionForward or AttentionBackward.
  template <class Op>
  AttentionByProducts(CudaStream& stream, Products& products, const Op& op,
                      const PreparedAttention& prepared, const AttentionInput<T>& in)
      : stream_(stream),
        products_(products),
        geometry_(op.geometry),
        qkv_FP_(op.qkv_FP),
        kv_MP_(op.kv_MP),
        room_(prepared.room().products),
        in_(in),
        head_numbers_(op.geometry.most_keys() * kProductTile) {}

  void forward(const Tensor& y_FC) {
    for_utterances([&](const AttentionTilePlace& utterance) {
      for_tiles(utterance, [&](const ProductTile& tile) {
        multiply_keys(tile);
        const Grid grid{dim3(static_cast<unsigned>((tile.queries + kColumns - 1) / kColumns),
                             static_cast<unsigned>(in_.heads)),
                        dim3(kColumns * kSlices)};
        launch(stream_.handle(), grid, weigh<T>, in_, tile, data_of<float>(room_.scores_HKQ),
               data_of<T>(room_.weights_HKQ));
        for_groups([&](int g) {  // y = p · v
          run({.a = keys_by_queries(room_.weights_HKQ, tile, g),
               .b = part(AttentionPart::value, tile, g),
               .d = queries_of(y_FC, tile.place.utterance_row + tile.place.first, tile, g),
               .transpose_a = true});
        });
      });
    });
  }

  void backward(const AttentionBackward& op, const float* delta_HF) {
    if (op.dqkv_FP.data == nullptr) return;
    for_utterances([&](const AttentionTilePlace& utterance) {
      clear(room_.dk_KC);
      clear(room_.dv_KC);
      for_tiles(utterance, [&](const ProductTile& tile) {
        multiply_keys(tile);
        add_tile(op, delta_HF, tile);
        store(op, AttentionPart::query, tile.place, tile.queries);
      });
      store(op, AttentionPart::key, utterance, utterance.keys);
      store(op, AttentionPart::value, utterance, utterance.keys);
    });
  }

 private:
  bool turned() const { return in_.cosines != nullptr; }
  std::int64_t key_heads() const { return in_.heads / in_.group; }

  template <class Body>
  void for_utterances(Body body) {
    AttentionTilePlace place{};
    for (std::size_t u = 0; u < geometry_.lengths.size(); ++u) {
      place.frames = geometry_.lengths[u];
      place.keys = geometry_.keys()[u];
      place.utterance = static_cast<std::int64_t>(u);
      if (turned())
        launch(stream_.handle(), grid_over(place.frames * (in_.channels + in_.key_channels())),
               turn<T>, in_, place, data_of<T>(room_.turned_FQ));
      body(place);
      place.utterance_row += place.frames;
      place.key_row += place.keys;
    }
  }
  template <class Body>
  void for_tiles(AttentionTilePlace place, Body body) {
    for (; place.first < place.frames; place.first += kProductTile) {
      const TileRange keys = keys_seen_by(in_, place, {kProductTile, 1});
      body(ProductTile{place, std::min<std::int64_t>(kProductTile, place.frames - place.first),
                       keys.first, keys.end - keys.first, head_numbers_});
    }
  }
  /// Calls body(g) for the heads of q that are number g among those that share a head of k.
  template <class Body>
  void for_groups(Body body) {
    for (int g = 0; g < in_.group; ++g) body(g);
  }

  void run(Product product) {
    product.batch = static_cast<int>(key_heads());
    products_.run(stream_, product);
  }
  void clear(const Tensor& sums) {
    check(cudaMemsetAsync(sums.data, 0, sums.bytes(), stream_.handle()), "clearing gradients");
  }
  /// Stores the gradients of `count` frames, or keys, from place.first on.
  void store(const AttentionBackward& op, AttentionPart which, const AttentionTilePlace& place,
             std::int64_t count) {
    const bool query = which == AttentionPart::query;
    const PartColumns to = columns_of(which, op.dqkv_FP, op.dkv_MP);
    const Tensor& from_RC = query                         ? room_.dq_QC
                            : which == AttentionPart::key ? room_.dk_KC
                                                          : room_.dv_KC;
    const std::int64_t pitch = to.matrix.shape[1];
    const std::int64_t row = (query ? place.utterance_row : place.key_row) + place.first;
    const GradientRows<T> rows{.first = place.first,
                               .count = count,
                               .columns = static_cast<int>(from_RC.shape[1]),
                               .from_RC = data_of<float>(from_RC),
                               .to = data_of<T>(to.matrix) + row * pitch + to.before,
                               .pitch = pitch,
                               .turned = turned() && which != AttentionPart::value};
    launch(stream_.handle(), grid_over(rows.count * rows.columns), store_rows<T>, in_, rows);
  }

  /// Returns q, k or v of a tile, one head of k after the other. Rotated q and k have a matrix of
  /// their own.
  Matrix part(AttentionPart which, const ProductTile& tile, int g) const {
    const bool own = turned() && which != AttentionPart::value;
    const PartColumns from =
        columns_of(which, own ? room_.turned_FQ : qkv_FP_, own ? room_.turned_FQ : kv_MP_);
    const std::int64_t lead = from.matrix.shape[1];
    if (which == AttentionPart::query)
      return Matrix(from.matrix,
                    (tile.place.utterance_row + tile.place.first) * lead + g * in_.width,
                    tile.queries, in_.width, lead)
          .each(in_.group * in_.width);
    return Matrix(from.matrix, (tile.place.key_row + tile.first_key) * lead + from.before,
                  tile.keys, in_.width, lead)
        .each(in_.width);
  }
  /// Returns a part's columns in the matrix of q, and of k and v too unless these have their own.
  PartColumns columns_of(AttentionPart which, const Tensor& with_q, const Tensor& of_keys) const {
    if (which == AttentionPart::query) return {with_q, 0};
    const std::int64_t before = which == AttentionPart::key ? 0 : in_.key_channels();
    if (geometry_.cross()) return {of_keys, before};
    return {with_q, in_.channels + before};
  }
  /// Returns a tile of a matrix with the heads of q side by side.
  Matrix queries_of(const Tensor& x_FC, std::int64_t row, const ProductTile& tile, int g) const {
    return Matrix(x_FC, row * in_.channels + g * in_.width, tile.queries, in_.width, in_.channels)
        .each(in_.group * in_.width);
  }
  Matrix keys_of(const Tensor& x_KC, const ProductTile& tile) const {
    const std::int64_t columns = in_.key_channels();
    return Matrix(x_KC, tile.first_key * columns, tile.keys, in_.width, columns).each(in_.width);
  }
  Matrix keys_by_queries(const Tensor& x_HKQ, const ProductTile& tile, int g) const {
    return Matrix(x_HKQ, g * head_numbers_, tile.keys, tile.queries, kProductTile)
        .each(in_.group * head_numbers_);
  }

  /// Computes q · k of a tile.
  void multiply_keys(const ProductTile& tile) {
    for_groups([&](int g) {
      run({.a = part(AttentionPart::key, tile, g),
           .b = part(AttentionPart::query, tile, g),
           .d = keys_by_queries(room_.scores_HKQ, tile, g),
           .transpose_b = true});
    });
  }
  /// Computes dq of a tile whose scores are there, and adds its shares of dk and dv.
  void add_tile(const AttentionBackward& op, const float* delta_HF, const ProductTile& tile) {
    const std::int64_t row = tile.place.utterance_row + tile.place.first;
    for_groups([&](int g) {
      run({.a = part(AttentionPart::value, tile, g),
           .b = queries_of(op.dy_FC, row, tile, g),
           .d = keys_by_queries(room_.d_weights_HKQ, tile, g),
           .transpose_b = true});
    });
    Grid grid = grid_over(tile.keys * tile.queries);
    grid.blocks.y = static_cast<unsigned>(in_.heads);
    launch(stream_.handle(), grid, weigh_backward<T>, in_, tile,
           TileGradients<T>{data_of<float>(room_.scores_HKQ), data_of<float>(room_.d_weights_HKQ),
                            delta_HF, data_of<T>(room_.weights_HKQ), data_of<T>(room_.ds_HKQ)});
    for_groups([&](int g) {
      const Matrix ds = keys_by_queries(room_.ds_HKQ, tile, g);
      run({.a = keys_by_queries(room_.weights_HKQ, tile, g),
           .b = queries_of(op.dy_FC, row, tile, g),
           .d = keys_of(room_.dv_KC, tile),
           .accumulate = true});
      run({.a = ds,
           .b = part(AttentionPart::query, tile, g),
           .d = keys_of(room_.dk_KC, tile),
           .accumulate = true});
      run({.a = ds,
           .b = part(AttentionPart::key, tile, g),
           .d = queries_of(room_.dq_QC, 0, tile, g),
           .transpose_a = true});
    });
  }

  CudaStream& stream_;
  Products& products_;
  const AttentionGeometry& geometry_;
  const Tensor &qkv_FP_, &kv_MP_;
  const AttentionProductsWorkspace& room_;
  const AttentionInput<T>& in_;
  std::int64_t head_numbers_;
};

}  // namespace

void attend_by_products(CudaStream& stream, Products& products, const AttentionForward& op,
                        const PreparedAttention& prepared) {
  with_type_of(op.qkv_FP, "AttentionForward", [&]<class T>(T) {
    const auto in = prepared.input<T>(op);
    AttentionByProducts<T>(stream, products, op, prepared, in).forward(op.y_FC);
  });
}

void attend_by_products_backward(CudaStream& stream, Products& products,
                                 const AttentionBackward& op, const PreparedAttention& prepared) {
  with_type_of(op.qkv_FP, "AttentionBackward", [&]<class T>(T) {
    const auto in = prepared.input<T>(op);
    AttentionByProducts<T>(stream, products, op, prepared, in)
        .backward(op, prepared.room().delta_HF);
  });
}

}  // namespace penstock::layers::cuda
