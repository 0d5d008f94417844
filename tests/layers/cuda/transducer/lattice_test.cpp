#include <limits>
#include <numeric>

#include "layers/ops/transducer.h"
#include "tests/layers/cuda/parity.h"

namespace penstock::layers {
namespace {

class CudaTransducerLattice : public Parity {
 protected:
  /// Losses and occupancies of both backends. Both sum in FP64, so they differ by the last rounding
  /// of FP32.
  void compare(const std::vector<std::int64_t>& lengths, const std::vector<std::int32_t>& counts,
               const std::vector<std::int32_t>& durations, bool train) {
    const auto width = static_cast<std::int64_t>(2 + durations.size());
    const Twin scores = scores_of(lengths, counts, width);
    const std::vector<std::int32_t> labels(std::accumulate(counts.begin(), counts.end(), 0u), 1);
    std::vector<double> of_weights;
    for (std::size_t u = 0; u < lengths.size(); ++u)
      of_weights.push_back(u % 3 == 2 ? 0.5 : u == 4 ? 0 : 1);
    const Twin weights = twin(DType::f32, {static_cast<std::int64_t>(lengths.size())}, of_weights);
    std::vector<double> cpu_losses(lengths.size(), -1), cuda_losses(lengths.size(), -1);
    const auto targets = [&](const Tensor& of, std::vector<double>& losses) {
      return Targets{
          labels, counts, {static_cast<const float*>(of.data), lengths.size()}, 0.25, losses};
    };
    const Targets on_cpu = targets(weights.cpu, cpu_losses);
    const Targets on_cuda = targets(weights.cuda, cuda_losses);
    const auto room = [&](DeviceKind device) {
      return transducer_lattice_workspace(device, lengths, counts);
    };
    run(TransducerLattice{scores.cpu, lengths, on_cpu, durations, train,
                          host_memory(room(DeviceKind::cpu))},
        TransducerLattice{scores.cuda, lengths, on_cuda, durations, train,
                          device_memory(room(DeviceKind::cuda))});
    EXPECT_LE(test::relative_error(cuda_losses, cpu_losses), 1e-12) << "losses";
    if (train)
      expect_close(scores, 0x1p-23, "occupancies");
    else
      EXPECT_EQ(on_device(scores.cuda), test::numbers(scores.cpu)) << "scores";
  }

 private:
  /// Scores as TransducerScores writes them: at a row's end no label is left.
  Twin scores_of(const std::vector<std::int64_t>& lengths, const std::vector<std::int32_t>& counts,
                 std::int64_t width) {
    const std::int64_t cells = transducer_cells(lengths, counts);
    std::vector<double> values = test::uniform(cells * width, 3, -4, 0);
    std::size_t cell = 0;
    for (std::size_t u = 0; u < lengths.size(); ++u)
      for (std::int64_t c = 1; c <= lengths[u] * (counts[u] + 1); ++c, ++cell)
        if (c % (counts[u] + 1) == 0)
          values[cell * static_cast<std::size_t>(width) + 1] =
              -std::numeric_limits<double>::infinity();
    return twin(DType::f32, {cells, width}, values);
  }
};

TEST_P(CudaTransducerLattice, LossAndOccupanciesOfRnnT) {
  compare({7, 1, 13, 0, 5, 1}, {3, 0, 5, 2, 0, 4}, {}, true);
}

TEST_P(CudaTransducerLattice, LossAndOccupanciesOfTdt) {
  compare({7, 1, 13, 0, 5, 1}, {3, 0, 5, 2, 0, 4}, {0, 1, 2, 3, 4}, true);
  compare({7, 1, 2, 6}, {3, 0, 0, 1}, {2, 3}, true);  // two of these have no path
}

TEST_P(CudaTransducerLattice, LossAlone) {
  compare({7, 1, 13}, {3, 0, 5}, {}, false);
  compare({7, 1, 13}, {3, 0, 5}, {0, 1, 2}, false);
}

TEST_P(CudaTransducerLattice, LongUtterance) {  // diagonals of more cells than a block has threads
  compare({301, 9}, {270, 2}, {}, true);
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaTransducerLattice, ::testing::Values(DType::f32),
                         name_of_parameter);

}  // namespace
}  // namespace penstock::layers
