#include "runtime/trainer/logits_file.h"

#include <fmt/format.h>

#include <algorithm>
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
  kept_[recording].assign(logits_FC.begin(), logits_FC.end());
  classes_ = classes;
}

void LogitsFile::collect(comm::Communicator& world, std::size_t recordings) {
  std::vector<double> numbers(recordings);  // of each recording; whole numbers are exact in FP64
  for (const auto& [recording, logits] : kept_)
    numbers.at(recording) = static_cast<double>(logits.size());
  comm::sum_disjoint(world, numbers);
  for (const std::string& classes : comm::gather(world, fmt::format("{}", classes_)))
    classes_ = std::max(classes_, static_cast<std::int64_t>(std::stoll(classes)));
  classes_ = std::stoll(comm::broadcast(world, fmt::format("{}", classes_)));

  const bool leads = world.rank() == 0;
  if (leads && collected_ == nullptr) collected_ = std::make_unique<ScratchFile>();
  for (std::size_t i = 0; i < recordings; ++i) {
    if (leads) counts_.push_back(static_cast<std::int64_t>(numbers[i]));
    if (numbers[i] == 0) continue;
    for (const std::string& of_rank : comm::gather(world, text_of(kept_[i])))
      if (!of_rank.empty()) collected_->write(of_rank);
  }
  kept_.clear();
}

void LogitsFile::write(const std::filesystem::path& path) const {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    tensors.push_back(
        {fmt::format("{:05}", i),
         {nullptr, layers::DType::f32, {classes_ > 0 ? counts_[i] / classes_ : 0, classes_}}});
  const auto all = collected_->map();
  std::string_view left = all.bytes();  // the tensors lie in the file's order
  write_safetensors(path, tensors, {}, [&](const layers::Tensor& tensor, std::size_t begin) {
    const std::string_view bytes = left.substr(0, tensor.bytes() - begin);
    left.remove_prefix(bytes.size());
    return std::as_bytes(std::span(bytes));
  });
}

}  // namespace penstock::runtime
