#include "tests/support/golden.h"

#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/sources.h"
#include "tests/support/tensors.h"

namespace penstock::test {
namespace {

DType dtype_of(const std::string& name) {
  if (name == "F32") return DType::f32;
  if (name == "F64") return DType::f64;
  if (name == "I32") return DType::i32;
  if (name == "I64") return DType::i64;
  throw std::runtime_error("golden files hold F32, F64, I32 and I64, not " + name);
}

}  // namespace

Golden::Golden(const std::string& name) {
  const auto path = source("tests/golden") / (name + ".safetensors");
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path.string() + " is missing: run make_golden.py beside it");
  std::string bytes(std::istreambuf_iterator<char>(file), {});

  // Eight bytes of header length, a JSON header, then the numbers, all little-endian.
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), sizeof header_bytes);
  const auto header = nlohmann::json::parse(bytes.substr(8, header_bytes));
  for (const auto& [key, entry] : header.items()) {
    if (key == "__metadata__") continue;
    const std::size_t begin = 8 + header_bytes + entry["data_offsets"][0].get<std::size_t>();
    Tensor tensor{nullptr, dtype_of(entry["dtype"]), entry["shape"].get<Shape>()};
    const Buffer aligned_copy = host_buffer(tensor.bytes());
    tensor.data = aligned_copy.data();
    std::memcpy(tensor.data, bytes.substr(begin, tensor.bytes()).data(), tensor.bytes());
    tensors_[key] = {tensor.shape, numbers(tensor)};
  }
}

std::vector<std::int64_t> Golden::integers(const std::string& tensor) const {
  const std::vector<double>& values = tensors_.at(tensor).values;
  return {values.begin(), values.end()};
}

void Golden::copy(const std::string& tensor, const Tensor& to) const {
  assign(to, tensors_.at(tensor).values);
}

double Golden::error(const Tensor& a, const std::string& b) const {
  return relative_error(numbers(a), tensors_.at(b).values);
}

}  // namespace penstock::test
