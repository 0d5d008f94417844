#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "layers/backend.h"
#include "layers/ops/transducer.h"
#include "tests/support/layers/tensors.h"

namespace penstock::layers {

/// Runs a transducer's loss on the CPU, from the logits of all cells to their gradient, as a layer
/// does: tile by tile, but with all logits in memory.
struct TransducerRun {
  DType dtype = DType::f64;  // of the logits
  std::vector<std::int64_t> lengths;
  std::vector<std::vector<std::int32_t>> labels = {};
  std::int64_t tokens = 0;
  std::vector<std::int32_t> durations = {};
  double sigma = 0;
  std::int64_t tile_frames = 1000;
  double scale = 1;
  std::vector<float> weights = std::vector<float>(lengths.size(), 1);
  std::shared_ptr<Backend> backend = make_cpu_backend();
  std::shared_ptr<Stream> stream = backend->make_stream();

  // Results. Scores are those before the lattice, which leaves occupancies.
  std::vector<double> losses = {}, scores = {}, occupancies = {}, gradient = {};

  std::int64_t width() const { return tokens + static_cast<std::int64_t>(durations.size()); }
  std::int64_t row(std::size_t u) const { return static_cast<std::int64_t>(labels[u].size()) + 1; }
  std::int64_t cells() const {
    std::int64_t sum = 0;
    for (std::size_t u = 0; u < lengths.size(); ++u) sum += lengths[u] * row(u);
    return sum;
  }

  void run(const std::vector<double>& logits) {
    const std::int64_t all = cells(), scored = 2 + static_cast<std::int64_t>(durations.size());
    const DType wide = arithmetic_of(dtype);
    test::GuardedMemory of_logits(bytes(dtype, all * width())),
        of_scores(bytes(wide, all * scored));
    const Tensor logits_CK{of_logits.data(), dtype, {all, width()}};
    const Tensor scores_CS{of_scores.data(), wide, {all, scored}};
    test::assign(logits_CK, logits);
    for_each_tile(logits_CK, scores_CS, [&](const Tensor& x, const Tensor& s, const Tensor& l) {
      backend->run(*stream, TransducerScores{x, l, tokens, sigma, s});
    });
    scores = test::numbers(scores_CS);
    run_lattice(scores_CS);
    occupancies = test::numbers(scores_CS);
    for_each_tile(logits_CK, scores_CS, [&](const Tensor& x, const Tensor& s, const Tensor& l) {
      backend->run(*stream, TransducerLogitGradient{x, l, tokens, s, x});
    });
    gradient = test::numbers(logits_CK);
    of_logits.check("the logits");
    of_scores.check("the scores");
  }

  /// Computes the losses, and replaces the scores by occupancies if `train`.
  void run_lattice(const Tensor& scores_CS, bool train = true) {
    std::vector<std::int32_t> flat, counts;
    for (const auto& text : labels) {
      flat.insert(flat.end(), text.begin(), text.end());
      counts.push_back(static_cast<std::int32_t>(text.size()));
    }
    losses.assign(lengths.size(), -1);
    const Targets targets{flat, counts, weights, scale, losses};
    test::GuardedMemory room(transducer_lattice_workspace(DeviceKind::cpu, lengths, counts));
    backend->run(*stream,
                 TransducerLattice{scores_CS, lengths, targets, durations, train, room.bytes()});
    room.check("the workspace");
  }

  static std::size_t bytes(DType type, std::int64_t count) {
    return static_cast<std::size_t>(count) * size_of(type);
  }

  /// Calls use(logits, scores, labels) for each tile of each utterance.
  template <class Use>
  void for_each_tile(const Tensor& logits_CK, const Tensor& scores_CS, const Use& use) {
    const auto part = [](const Tensor& of, std::int64_t first, std::int64_t rows) {
      std::byte* const data =
          static_cast<std::byte*>(of.data) + bytes(of.dtype, first * of.shape[1]);
      return Tensor{data, of.dtype, {rows, of.shape[1]}};
    };
    std::int64_t cell = 0;
    for (std::size_t u = 0; u < lengths.size(); ++u) {
      const Tensor labels_U{labels[u].data(), DType::i32, {row(u) - 1}};
      for (std::int64_t t = 0; t < lengths[u]; t += tile_frames) {
        const std::int64_t rows = std::min(tile_frames, lengths[u] - t) * row(u);
        use(part(logits_CK, cell, rows), part(scores_CS, cell, rows), labels_U);
        cell += rows;
      }
    }
  }
};

}  // namespace penstock::layers
