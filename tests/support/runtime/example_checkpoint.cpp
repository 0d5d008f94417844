#include "tests/support/runtime/example_checkpoint.h"

#include <algorithm>
#include <random>

#include "runtime/checkpoint/save.h"

namespace penstock::test {

std::vector<ExampleTensor> example_tensors(std::int64_t step) {
  std::vector<ExampleTensor> tensors{
      {"conv1.weight", layers::DType::f32, {5, 1, 7, 11}, {}},
      {"norm1.running_mean", layers::DType::f64, {13}, {}},
      {"optimizer.m/conv1.weight", layers::DType::f32, {5, 1, 7, 11}, {}},
      {"output.weight", layers::DType::f16, {3, 10001}, {}},
      {"empty", layers::DType::bf16, {0, 4}, {}},
      {"scalar", layers::DType::i64, {}, {}},
  };
  std::mt19937_64 random(static_cast<std::uint64_t>(step));
  for (ExampleTensor& tensor : tensors) {
    tensor.bytes.resize(static_cast<std::size_t>(layers::element_count(tensor.shape)) *
                        layers::size_of(tensor.dtype));
    for (std::byte& byte : tensor.bytes) byte = static_cast<std::byte>(random());
  }
  return tensors;
}

std::vector<runtime::CheckpointPiece> example_pieces(const std::vector<ExampleTensor>& tensors,
                                                     int rank, int ranks) {
  std::int64_t all = 0;
  for (const ExampleTensor& tensor : tensors) all += layers::element_count(tensor.shape);
  const std::int64_t from = all * rank / ranks, to = all * (rank + 1) / ranks;
  std::vector<runtime::CheckpointPiece> pieces;
  std::int64_t start = 0;
  for (const ExampleTensor& tensor : tensors) {
    const std::int64_t count = layers::element_count(tensor.shape);
    const std::int64_t begin = std::clamp(from - start, std::int64_t{0}, count);
    const std::int64_t end = std::clamp(to - start, std::int64_t{0}, count);
    if (begin < end || (count == 0 && rank == 0))
      pieces.push_back(
          {tensor.name, tensor.dtype, tensor.shape, begin, end,
           tensor.bytes.data() + static_cast<std::size_t>(begin) * layers::size_of(tensor.dtype)});
    start += count;
  }
  return pieces;
}

std::filesystem::path save_example(const std::filesystem::path& output, std::int64_t step,
                                   int ranks) {
  const std::vector<ExampleTensor> tensors = example_tensors(step);
  const auto folder = runtime::start_save(output, step);
  std::vector<runtime::ShardIndex> shards;
  for (int rank = 0; rank < ranks; ++rank)
    shards.push_back(runtime::write_shard(folder, "stage-" + std::to_string(rank),
                                          example_pieces(tensors, rank, ranks)));
  runtime::TrainingState state;
  state.step = step;
  return runtime::commit(folder, state, shards);
}

}  // namespace penstock::test
