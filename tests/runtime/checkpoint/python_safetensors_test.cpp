#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/support/runtime/example_checkpoint.h"
#include "tests/support/system/process.h"
#include "tests/support/system/temporary_folder.h"
#include "tests/support/tree/sources.h"

namespace penstock::runtime {
namespace {

constexpr int ranks = 3;

std::string in_hexadecimal(const std::byte* bytes, std::size_t count) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = std::to_integer<unsigned>(bytes[i]);
    text += {digits[byte / 16], digits[byte % 16]};
  }
  return text;
}

/// The tensor that a rank's shard holds of a piece, as open_shards.py reads it.
nlohmann::json expected_tensor(int rank, const CheckpointPiece& piece) {
  static const std::map<layers::DType, std::string> dtypes = {{layers::DType::f32, "F32"},
                                                              {layers::DType::f64, "F64"},
                                                              {layers::DType::f16, "F16"},
                                                              {layers::DType::bf16, "BF16"},
                                                              {layers::DType::i64, "I64"}};
  const std::int64_t count = piece.end - piece.begin;
  std::string name = piece.name;
  layers::Shape shape = piece.full_shape;
  if (count != layers::element_count(shape)) {
    name += fmt::format("[{}:{}]", piece.begin, piece.end);
    shape = {count};
  }
  return {fmt::format("stage-{}.safetensors", rank), name, dtypes.at(piece.dtype), shape,
          in_hexadecimal(static_cast<const std::byte*>(piece.data),
                         static_cast<std::size_t>(count) * layers::size_of(piece.dtype))};
}

TEST(PythonSafetensors, OpensShardsAndFindsEveryByte) {
  if (test::run_program({"python3", "-c", "import safetensors"}).code != 0)
    GTEST_SKIP() << "python3 has no module safetensors (pip install safetensors)";
  const test::TemporaryFolder output;
  const auto checkpoint = test::save_example(output.path(), 10, ranks);
  const auto tensors = test::example_tensors(10);
  std::string lines;
  for (int rank = 0; rank < ranks; ++rank)
    for (const CheckpointPiece& piece : test::example_pieces(tensors, rank, ranks))
      lines += expected_tensor(rank, piece).dump() + "\n";
  const auto expected = output.path() / "expected.jsonl";
  test::write_file(expected, lines);
  const auto script = test::source("tests/runtime/checkpoint/open_shards.py");
  const test::Outcome opened =
      test::run_program({"python3", script.string(), checkpoint.string(), expected.string()});
  EXPECT_EQ(opened.code, 0) << opened.out << opened.err;
}

}  // namespace
}  // namespace penstock::runtime
