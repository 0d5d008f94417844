#include "runtime/recognise/logits_file.h"

#include <fmt/format.h>

#include <string_view>
#include <vector>

#include "runtime/checkpoint/safetensors/safetensors_writer.h"

// At the end, the scratch file of all logits is read through once, since a safetensors file with
// equal types has its tensors in the given order.

namespace penstock::runtime {

void LogitsFile::write(const std::filesystem::path& path) const {
  const std::int64_t classes = gathered_.classes();
  std::vector<NamedTensor> tensors;
  for (const std::int64_t size : gathered_.sizes())
    tensors.push_back({fmt::format("{:05}", tensors.size()),
                       {nullptr, layers::DType::f32, {classes > 0 ? size / classes : 0, classes}}});
  const auto all = gathered_.map();
  std::string_view left = all.bytes();  // tensors are in the file's order
  write_safetensors(path, tensors, {}, [&](const layers::Tensor& tensor, std::size_t begin) {
    const std::string_view bytes = left.substr(0, tensor.bytes() - begin);
    left.remove_prefix(bytes.size());
    return std::as_bytes(std::span(bytes));
  });
}

}  // namespace penstock::runtime
