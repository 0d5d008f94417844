#include "comm/disjoint_sum.h"

#include <span>
#include <utility>

#include "comm/tags.h"

namespace penstock::comm {
namespace {

void add(const std::vector<double>& numbers, std::vector<double>& sum) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += numbers[i];
}

}  // namespace

DisjointSum::DisjointSum(Communicator& ranks, std::vector<double> own)
    : ranks_(ranks), known_(std::move(own)), sum_(known_.size()) {
  for (double& value : known_) value += 0.0;  // -0 becomes +0, also with a single rank
  start_round();
}

bool DisjointSum::in_last_round() const { return ranks_.size() / reach_ < kDirectRanks; }

/// Starts the messages of a round. Counted backwards around the ring from this rank, the ranks are
/// cut into runs whose lengths are powers of the base, the longest first. Digit j of the number of
/// ranks, in the base, is the number of runs of length base^j. In round j `known_` of a run's last
/// rank is the sum of that run, and this rank adds it to the result.
void DisjointSum::start_round() {
  if (!in_last_round())
    for (int run = 1; run < kDirectRanks; ++run) exchange(run * reach_, for_known_);
  const int runs = ranks_.size() / reach_;
  const int first = runs - runs % kDirectRanks;
  for (int run = first; run < runs; ++run) exchange(run * reach_, for_sum_);
}

/// Sends `known_` to the rank `distance` places ahead, and receives as much from the rank as far
/// back.
void DisjointSum::exchange(int distance, std::vector<Numbers>& received) {
  if (distance == 0) return add(known_, sum_);
  const int size = ranks_.size();
  const int tag = tags::late_sum + round_;
  Numbers& other = received.emplace_back(known_.size());
  transfers_.push_back(ranks_.receive({(ranks_.rank() + size - distance) % size, tag, "late sum"},
                                      std::as_writable_bytes(std::span<double>(other))));
  transfers_.push_back(ranks_.send({(ranks_.rank() + distance) % size, tag, "late sum"},
                                   std::as_bytes(std::span<const double>(known_))));
}

void DisjointSum::end_round() {
  transfers_.clear();
  for (const Numbers& numbers : for_sum_) add(numbers, sum_);
  for (const Numbers& numbers : for_known_) add(numbers, known_);
  for_sum_.clear();
  for_known_.clear();
  reach_ *= kDirectRanks;
  ++round_;
}

void DisjointSum::progress() {
  while (!in_last_round()) {
    std::erase_if(transfers_, [](const auto& transfer) { return transfer->done(); });
    if (!transfers_.empty()) return;
    end_round();
    start_round();
  }
}

std::vector<double> DisjointSum::finish() {
  for (bool last = false; !last;) {
    for (const auto& transfer : transfers_) wait(ranks_, *transfer);
    last = in_last_round();
    end_round();
    if (!last) start_round();
  }
  return std::move(sum_);
}

}  // namespace penstock::comm
