#include "runtime/trainer/logits_file.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "comm/collectives.h"
#include "runtime/checkpoint/safetensors_writer.h"

namespace penstock::runtime {
namespace {

std::string_view text_of(std::span<const float> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size_bytes()};
}

}  // namespace

void LogitsFile::keep(std::size_t recording, std::span<const float> logits_FC,
                      std::int64_t classes) {
  kept_.at(recording).assign(logits_FC.begin(), logits_FC.end());
  classes_ = classes;
}

void LogitsFile::write(comm::Communicator& world, const std::filesystem::path& path) const {
  std::vector<double> sizes;  // in numbers of each recording; then the classes
  for (const std::vector<float>& logits : kept_)
    sizes.push_back(static_cast<double>(logits.size()));
  sizes.push_back(static_cast<double>(classes_));
  comm::sum_disjoint(world, sizes);
  std::vector<NamedTensor> tensors;
  std::vector<std::size_t> filled;  // recordings with frames, which alone have bytes to bring
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const auto classes = static_cast<std::int64_t>(sizes.back());
    const auto count = static_cast<std::int64_t>(sizes[i]);
    tensors.push_back(
        {fmt::format("{:05}", i),
         {nullptr, layers::DType::f32, {classes > 0 ? count / classes : 0, classes}}});
    if (count > 0) filled.push_back(i);
  }

  std::string brought;
  std::size_t next = 0;
  const auto bring = [&] {
    for (const std::string& of_rank : comm::gather(world, text_of(kept_[filled[next]])))
      if (!of_rank.empty()) brought = of_rank;
    ++next;
  };
  if (world.rank() != 0) {
    while (next < filled.size()) bring();
    return;
  }
  write_safetensors(path, tensors, {}, [&](const layers::Tensor&, std::size_t) {
    bring();
    return std::as_bytes(std::span(brought));
  });
}

}  // namespace penstock::runtime
