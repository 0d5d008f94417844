#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/checkpoint/shard.h"

namespace penstock::test {

/// A tensor with seeded numbers.
struct ExampleTensor {
  std::string name;
  layers::DType dtype = layers::DType::f32;
  layers::Shape shape;
  std::vector<std::byte> bytes;
};

/// Tensors as a checkpoint holds them: several dtypes, odd sizes, a scalar and an empty one.
/// Another step has other numbers.
std::vector<ExampleTensor> example_tensors(std::int64_t step);

/// The pieces of rank `rank` of `ranks`, which share all elements evenly, whatever tensor they
/// belong to. They refer to `tensors`.
std::vector<runtime::CheckpointPiece> example_pieces(const std::vector<ExampleTensor>& tensors,
                                                     int rank, int ranks);

/// Saves the example of that step, one shard for each rank, and returns the checkpoint's folder.
std::filesystem::path save_example(const std::filesystem::path& output, std::int64_t step,
                                   int ranks);

}  // namespace penstock::test
