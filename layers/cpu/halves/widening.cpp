#include "layers/cpu/halves/widening.h"

#include <algorithm>

#include "layers/ops/cast.h"

namespace penstock::layers {

Buffer BufferPool::take(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const auto fits = [bytes](const Buffer& b) { return b.bytes() >= bytes; };
  const auto found = std::find_if(free_.begin(), free_.end(), fits);
  if (found == free_.end()) {
    if (!free_.empty()) free_.pop_back();  // too small, and it would stay so
    return host_buffer(bytes);
  }
  Buffer buffer = std::move(*found);
  free_.erase(found);
  return buffer;
}

void BufferPool::give_back(Buffer buffer) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(buffer));
  std::sort(free_.begin(), free_.end(),
            [](const Buffer& a, const Buffer& b) { return a.bytes() < b.bytes(); });
}

Widening::~Widening() {
  for (Buffer& buffer : lent_) pool_.give_back(std::move(buffer));
}

Tensor Widening::room_for(const Tensor& half) {
  lent_.push_back(pool_.take(static_cast<std::size_t>(half.size()) * sizeof(float)));
  return {lent_.back().data(), DType::f32, half.shape};
}

void Widening::read(Tensor& tensor) {
  if (!is_half(tensor.dtype) || tensor.data == nullptr) return;
  const Tensor wide = room_for(tensor);
  backend_.run(stream_, Cast{tensor, wide});
  tensor = wide;
}

void Widening::write(Tensor& tensor) {
  if (!is_half(tensor.dtype) || tensor.data == nullptr) return;
  const Tensor wide = room_for(tensor);
  written_.push_back({wide, tensor});
  tensor = wide;
}

void Widening::round() {
  for (const Pair& pair : written_) backend_.run(stream_, Cast{pair.wide, pair.half});
}

}  // namespace penstock::layers
