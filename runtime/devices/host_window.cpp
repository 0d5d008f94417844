#include "runtime/devices/host_window.h"

#include <algorithm>

namespace penstock::runtime {

HostWindow::HostWindow(layers::Backend& backend, layers::Stream& stream)
    : backend_(backend), stream_(stream) {
  if (!shared()) own_ = layers::host_buffer(kBytes);
}

std::span<std::byte> HostWindow::part(const layers::Tensor& tensor, std::size_t begin) {
  return {own_.data(), std::min(kBytes, tensor.bytes() - begin)};
}

// The stream is synchronised in either case: the tensor's last writer may still run.
std::span<const std::byte> HostWindow::read(const layers::Tensor& tensor, std::size_t begin) {
  const auto* data = static_cast<const std::byte*>(tensor.data) + begin;
  if (shared()) {
    backend_.synchronize(stream_);
    return {data, tensor.bytes() - begin};
  }
  const std::span<std::byte> host = part(tensor, begin);
  backend_.copy_out(stream_, host.data(), data, host.size());
  backend_.synchronize(stream_);
  return host;
}

// Each copy ends before the next part is written, since the parts share the window's memory.
void HostWindow::write(const layers::Tensor& tensor, const Fill& fill) {
  auto* data = static_cast<std::byte*>(tensor.data);
  if (shared()) {
    backend_.synchronize(stream_);
    return fill(0, {data, tensor.bytes()});
  }
  for (std::size_t begin = 0; begin < tensor.bytes(); begin += kBytes) {
    const std::span<std::byte> host = part(tensor, begin);
    fill(begin, host);
    backend_.copy_in(stream_, data + begin, host.data(), host.size());
    backend_.synchronize(stream_);
  }
}

}  // namespace penstock::runtime
