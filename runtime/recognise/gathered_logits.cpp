#include "runtime/recognise/gathered_logits.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "comm/collectives.h"
#include "comm/tags.h"

// Logits of a part lie on the rank whose replica heard it, in the order of micro-batches. They move
// to the root one part at a time. A part has one keeper, so sums over ranks tell its size and its
// keeper to all, and its messages need no further agreement. Only ranks that hear recordings know
// the number of classes, hence the maximum.

namespace penstock::runtime {

void GatheredLogits::keep(std::size_t part, std::span<const float> logits_FC,
                          std::int64_t classes) {
  if (own_ == nullptr) own_ = std::make_unique<ScratchFile>();
  kept_[part] = {own_->size(), logits_FC.size_bytes()};
  own_->write({reinterpret_cast<const char*>(logits_FC.data()), logits_FC.size_bytes()});
  classes_ = classes;
}

void GatheredLogits::collect(comm::Communicator& world, std::size_t parts, int root) {
  std::vector<double> told(2 * parts);  // size and keeper of each; integers are exact in FP64
  for (const auto& [part, place] : kept_) {
    const std::size_t numbers = place.size / sizeof(float);
    told.at(2 * part) = static_cast<double>(numbers);
    told.at(2 * part + 1) = world.rank();
  }
  comm::sum_disjoint(world, told);
  for (const std::string& classes : comm::gather(world, fmt::format("{}", classes_)))
    classes_ = std::max(classes_, static_cast<std::int64_t>(std::stoll(classes)));
  classes_ = std::stoll(comm::broadcast(world, fmt::format("{}", classes_)));

  if (own_ != nullptr && own_->size() > 0) own_bytes_ = own_->map();
  if (world.rank() == root && collected_ == nullptr) collected_ = std::make_unique<ScratchFile>();
  for (std::size_t i = 0; i < parts; ++i)
    take(world, i, static_cast<std::size_t>(told[2 * i]), static_cast<int>(told[2 * i + 1]), root);
  kept_.clear();
  own_bytes_ = {};
  own_.reset();
}

/// Sends one part's logits from the rank that keeps them to the root, which appends them to its
/// file.
void GatheredLogits::take(comm::Communicator& world, std::size_t part, std::size_t size, int keeper,
                          int root) {
  const bool leads = world.rank() == root, keeps = world.rank() == keeper;
  if (leads) sizes_.push_back(static_cast<std::int64_t>(size));
  if (size == 0 || (!leads && !keeps)) return;
  std::string_view own;
  if (keeps) own = own_bytes_.bytes().substr(kept_[part].begin, kept_[part].size);
  if (keeps && !leads)
    comm::wait(world, *world.send({root, comm::tags::logits, "logits of a recording"},
                                  std::as_bytes(std::span(own))));
  std::vector<float> received;
  if (leads && !keeps) {
    received.resize(size);
    comm::wait(world, *world.receive({keeper, comm::tags::logits, "logits of a recording"},
                                     std::as_writable_bytes(std::span(received))));
    own = {reinterpret_cast<const char*>(received.data()), size * sizeof(float)};
  }
  if (leads) collected_->write(own);
}

}  // namespace penstock::runtime
