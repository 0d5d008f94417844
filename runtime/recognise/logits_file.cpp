#include "runtime/recognise/logits_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "comm/collectives.h"
#include "comm/tags.h"
#include "runtime/checkpoint/safetensors/safetensors_writer.h"

// Logits of a recording lie on the rank whose replica heard it. After each window they move to rank
// 0's scratch file, one recording at a time and in the order of recordings. At the end that file is
// read through once, since a safetensors file with equal types has its tensors in the given order.
// So no rank ever holds more than a window's logits.

namespace penstock::runtime {

void LogitsFile::keep(std::size_t recording, std::span<const float> logits_FC,
                      std::int64_t classes) {
  kept_[recording].assign(logits_FC.begin(), logits_FC.end());
  classes_ = classes;
}

// A recording has one keeper, so sums over ranks tell its size and its keeper to all. Its messages
// then need no further agreement. Only ranks that hear recordings know the number of classes, hence
// the maximum.
void LogitsFile::collect(comm::Communicator& world, std::size_t recordings) {
  std::vector<double> told(2 * recordings);  // size and keeper of each; integers are exact in FP64
  for (const auto& [recording, logits] : kept_) {
    told.at(2 * recording) = static_cast<double>(logits.size());
    told.at(2 * recording + 1) = world.rank();
  }
  comm::sum_disjoint(world, told);
  for (const std::string& classes : comm::gather(world, fmt::format("{}", classes_)))
    classes_ = std::max(classes_, static_cast<std::int64_t>(std::stoll(classes)));
  classes_ = std::stoll(comm::broadcast(world, fmt::format("{}", classes_)));

  if (world.rank() == 0 && collected_ == nullptr) collected_ = std::make_unique<ScratchFile>();
  for (std::size_t i = 0; i < recordings; ++i)
    take(world, i, static_cast<std::size_t>(told[2 * i]), static_cast<int>(told[2 * i + 1]));
  kept_.clear();
}

/// Sends one recording's logits from the rank that keeps them to rank 0, which appends them to its
/// file.
void LogitsFile::take(comm::Communicator& world, std::size_t recording, std::size_t size,
                      int keeper) {
  const bool leads = world.rank() == 0, keeps = world.rank() == keeper;
  if (leads) counts_.push_back(static_cast<std::int64_t>(size));
  if (size == 0 || (!leads && !keeps)) return;
  std::vector<float> logits = std::move(kept_[recording]);
  if (leads && !keeps) {
    logits.resize(size);
    comm::wait(world, *world.receive({keeper, comm::tags::logits, "logits of a recording"},
                                     std::as_writable_bytes(std::span(logits))));
  }
  if (keeps && !leads)
    comm::wait(world, *world.send({0, comm::tags::logits, "logits of a recording"},
                                  std::as_bytes(std::span(logits))));
  if (leads)
    collected_->write({reinterpret_cast<const char*>(logits.data()), size * sizeof(float)});
}

void LogitsFile::write(const std::filesystem::path& path) const {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < counts_.size(); ++i)
    tensors.push_back(
        {fmt::format("{:05}", i),
         {nullptr, layers::DType::f32, {classes_ > 0 ? counts_[i] / classes_ : 0, classes_}}});
  const auto all = collected_->map();
  std::string_view left = all.bytes();  // tensors are in the file's order
  write_safetensors(path, tensors, {}, [&](const layers::Tensor& tensor, std::size_t begin) {
    const std::string_view bytes = left.substr(0, tensor.bytes() - begin);
    left.remove_prefix(bytes.size());
    return std::as_bytes(std::span(bytes));
  });
}

}  // namespace penstock::runtime
