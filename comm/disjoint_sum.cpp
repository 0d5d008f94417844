#include "comm/disjoint_sum.h"

#include <span>
#include <utility>

#include "comm/tags.h"

namespace penstock::comm {

DisjointSum::DisjointSum(Communicator& ranks, std::vector<double> own)
    : ranks_(ranks), own_(std::move(own)), others_(ranks.size()) {
  for (double& value : own_) value += 0.0;  // -0 would stay on one rank alone
  for (int step = 1; step < ranks.size(); ++step) {
    const int to = (ranks.rank() + step) % ranks.size();
    const int from = (ranks.rank() + ranks.size() - step) % ranks.size();
    others_[from].resize(own_.size());
    transfers_.push_back(ranks.receive({from, tags::late_sum, "late sum"},
                                       std::as_writable_bytes(std::span<double>(others_[from]))));
    transfers_.push_back(
        ranks.send({to, tags::late_sum, "late sum"}, std::as_bytes(std::span<const double>(own_))));
  }
}

std::vector<double> DisjointSum::finish() {
  for (const auto& transfer : transfers_) wait(ranks_, *transfer);
  transfers_.clear();
  for (const std::vector<double>& other : others_)
    for (std::size_t i = 0; i < other.size(); ++i) own_[i] += other[i];
  return std::move(own_);
}

}  // namespace penstock::comm
