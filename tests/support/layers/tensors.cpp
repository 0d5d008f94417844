#include "tests/support/layers/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

namespace penstock::test {
namespace {

constexpr std::size_t kGuard = 256;
constexpr std::byte kPattern{0xa5};

// Calls `visit` with the tensor's pointer of its own type.
template <class Visit>
void visit_numbers(const layers::Tensor& tensor, Visit visit) {
  switch (tensor.dtype) {
    case layers::DType::f32:
      return visit(tensor.as<float>());
    case layers::DType::f64:
      return visit(tensor.as<double>());
    case layers::DType::f16:
      return visit(tensor.as<layers::Half>());
    case layers::DType::bf16:
      return visit(tensor.as<layers::BFloat16>());
    case layers::DType::i32:
      return visit(tensor.as<std::int32_t>());
    case layers::DType::i64:
      return visit(tensor.as<std::int64_t>());
    case layers::DType::u8:
      return visit(tensor.as<std::uint8_t>());
  }
}

void set(layers::Half& to, double value) { to = layers::to_half(static_cast<float>(value)); }
void set(layers::BFloat16& to, double value) {
  to = layers::to_bfloat16(static_cast<float>(value));
}
template <class T>
void set(T& to, double value) {
  to = static_cast<T>(value);
}

double get(layers::Half value) { return layers::to_float(value); }
double get(layers::BFloat16 value) { return layers::to_float(value); }
template <class T>
double get(T value) {
  return static_cast<double>(value);
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes)
    : bytes_(bytes), buffer_(layers::host_buffer(bytes + kGuard)) {
  std::fill_n(buffer_.data() + bytes_, kGuard, kPattern);
  poison();
}

void GuardedMemory::poison() { std::memset(buffer_.data(), 0xff, bytes_); }

void GuardedMemory::check(const char* what) const {
  const std::byte* guard = buffer_.data() + bytes_;
  if (!std::all_of(guard, guard + kGuard, [](std::byte b) { return b == kPattern; }))
    throw std::logic_error(std::string(what) + ": written beyond its " + std::to_string(bytes_) +
                           " bytes");
}

std::vector<double> numbers(const layers::Tensor& tensor) {
  std::vector<double> values(static_cast<std::size_t>(tensor.size()));
  visit_numbers(tensor, [&](const auto* from) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = get(from[i]);
  });
  return values;
}

void assign(const layers::Tensor& tensor, std::span<const double> values) {
  if (static_cast<std::size_t>(tensor.size()) != values.size())
    throw std::logic_error("a tensor of " + std::to_string(tensor.size()) + " numbers was given " +
                           std::to_string(values.size()));
  visit_numbers(tensor, [&](auto* to) {
    for (std::size_t i = 0; i < values.size(); ++i) set(to[i], values[i]);
  });
}

std::vector<double> uniform(std::int64_t count, std::uint64_t seed, double low, double high) {
  std::mt19937_64 random(seed);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values)
    value = static_cast<float>(low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53);
  return values;
}

double relative_error(std::span<const double> a, std::span<const double> b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) return infinity;
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return infinity;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest == 0 ? difference : difference / largest;
}

}  // namespace penstock::test
