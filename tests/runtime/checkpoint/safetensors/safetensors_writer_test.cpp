#include "runtime/checkpoint/safetensors/safetensors_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <span>

#include "base/error.h"
#include "runtime/checkpoint/hash.h"
#include "runtime/checkpoint/safetensors/safetensors.h"
#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::runtime {
namespace {

using test::TemporaryFolder;

std::vector<NamedTensor> named(std::vector<test::ExampleTensor>& examples) {
  std::vector<NamedTensor> tensors;
  for (auto& example : examples)
    tensors.push_back({example.name, {example.bytes.data(), example.dtype, example.shape}});
  return tensors;
}

TEST(SafetensorsWriter, ReadsBackInBits) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.safetensors";
  auto examples = test::example_tensors(1);
  const auto layout = write_safetensors(path, named(examples), {{"key", "väl\"ue\n"}});

  const SafetensorsFile file(path);
  EXPECT_EQ(file.metadata().at("key"), "väl\"ue\n");
  EXPECT_EQ(file.file_bytes(), layout.file_bytes);
  EXPECT_EQ(file.header_bytes().size() % layers::kAlignment, 0u);
  ASSERT_EQ(file.entries().size(), examples.size());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const layers::Tensor tensor = file.tensor(examples[i].name);  // aligned, or this would refuse
    EXPECT_EQ(tensor.shape, examples[i].shape);
    ASSERT_EQ(tensor.bytes(), examples[i].bytes.size());
    EXPECT_TRUE(
        std::ranges::equal(std::span(static_cast<const std::byte*>(tensor.data), tensor.bytes()),
                           std::as_bytes(std::span(examples[i].bytes))));
    EXPECT_EQ(file.entry(examples[i].name).begin, layout.entries[i].begin);
    EXPECT_EQ(file.entry(examples[i].name).end, layout.entries[i].end);
  }
}

TEST(SafetensorsWriter, TakesBytesInPartsOfAnySize) {
  const TemporaryFolder folder;
  auto examples = test::example_tensors(1);
  const auto whole = write_safetensors(folder.path() / "whole", named(examples));
  const auto parted = write_safetensors(
      folder.path() / "parted", named(examples), {},
      [part = std::vector<std::byte>()](const layers::Tensor& tensor, std::size_t begin) mutable {
        const auto left = host_bytes(tensor, begin);
        part.assign(left.begin(), left.begin() + std::min<std::size_t>(left.size(), 1009));
        return std::span<const std::byte>(part);
      });
  EXPECT_EQ(test::read_file(folder.path() / "parted"), test::read_file(folder.path() / "whole"));
  EXPECT_EQ(parted.hashes, whole.hashes);
  for (std::size_t i = 0; i < examples.size(); ++i)
    EXPECT_EQ(whole.hashes[i], xxh3_128(std::span<const std::byte>(examples[i].bytes)));
}

TEST(SafetensorsWriter, LeavesNothingWhereBytesCannotBeHad) {
  const TemporaryFolder folder;
  auto examples = test::example_tensors(1);
  const auto fail = [](const layers::Tensor&, std::size_t) -> std::span<const std::byte> {
    throw DeviceError("the device is gone");
  };
  EXPECT_THROW(write_safetensors(folder.path() / "x", named(examples), {}, fail), DeviceError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(SafetensorsWriter, WritesAFileWithoutTensors) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "x", {});
  EXPECT_TRUE(SafetensorsFile(folder.path() / "x").entries().empty());
}

TEST(SafetensorsWriter, RejectsNamesThatNoReaderTakes) {
  const TemporaryFolder folder;
  float number = 1;
  const layers::Tensor tensor{&number, layers::DType::f32, {}};
  const auto path = folder.path() / "x";
  using Tensors = std::vector<NamedTensor>;
  EXPECT_THROW(write_safetensors(path, Tensors{{"a", tensor}, {"a", tensor}}), CheckpointError);
  EXPECT_THROW(write_safetensors(path, Tensors{{"__metadata__", tensor}}), CheckpointError);
  EXPECT_THROW(write_safetensors(path, Tensors{{std::string("a\0b", 3), tensor}}), CheckpointError);
  EXPECT_THROW(write_safetensors(path, Tensors{{"\xff", tensor}}), CheckpointError);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

}  // namespace
}  // namespace penstock::runtime
