#include "comm/lane_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <utility>

#include "base/bit_reversal.h"
#include "base/error.h"
#include "base/quantities.h"
#include "comm/communicator.h"
#include "comm/tags.h"
#include "layers/tensor/tensor.h"

namespace penstock::comm {

// Each bucket is a state machine of rounds. In a round of the sums a replica sends some pieces and
// receives others into its staging memory. When all messages of the round are done, it adds what it
// received and starts the next round. The pairs of each addition are fixed by the tree of
// sum_rounds(), so neither timing nor the bucket sizes change a bit of the result. Staging memory
// holds the largest round of each bucket, since a bucket has one round in flight at a time.
//
// With 2^k replicas of equally many lanes, the rounds are Rabenseifner's all-reduce (2004):
// recursive halving for the sums, then recursive doubling to gather them. Every replica then sends
// and receives 2 (R - 1) / R of a bucket.

namespace {

constexpr std::int64_t kPieceStep = 16;  // pieces start on cache lines of their bucket

std::int64_t piece_elements(std::int64_t bucket_elements, int replicas) {
  const std::int64_t even = (bucket_elements + replicas - 1) / replicas;
  return (even + kPieceStep - 1) / kPieceStep * kPieceStep;
}

/// Returns the elements of the piece at a place of a bucket.
ElementRange piece_at(const LaneReductionPlan& plan, int bucket, int place) {
  const auto b = static_cast<std::size_t>(bucket), p = static_cast<std::size_t>(place);
  const std::int64_t begin = bucket_begin(plan, bucket), end = plan.bucket_ends[b];
  if (!plan.owned_ends.empty()) {
    const std::vector<std::int64_t>& ends = plan.owned_ends[b];
    return {p == 0 ? begin : ends[p - 1], ends[p]};
  }
  const std::int64_t step = piece_elements(end - begin, static_cast<int>(plan.lanes_of.size()));
  return {std::min(end, begin + place * step), std::min(end, begin + (place + 1) * step)};
}

std::span<std::byte> bytes_of(const LaneReductionPlan& plan, std::byte* arena,
                              const ElementRange& run) {
  const std::size_t size = layers::size_of(plan.dtype);
  return {arena + static_cast<std::size_t>(run.first) * size,
          static_cast<std::size_t>(run.second - run.first) * size};
}

template <class T>
void add_to(std::span<std::byte> sum, const std::byte* other) {
  T* const values = reinterpret_cast<T*>(sum.data());
  const T* const others = reinterpret_cast<const T*>(other);
  for (std::size_t i = 0; i < sum.size() / sizeof(T); ++i) values[i] += others[i];
}

/// Returns true if the owners' elements ascend and fill every bucket to its end.
bool owners_fit(const LaneReductionPlan& plan) {
  if (plan.owned_ends.size() != plan.bucket_ends.size()) return false;
  for (std::size_t bucket = 0; bucket < plan.owned_ends.size(); ++bucket) {
    const std::vector<std::int64_t>& ends = plan.owned_ends[bucket];
    if (ends.size() != plan.lanes_of.size() || !std::ranges::is_sorted(ends) ||
        ends.front() < bucket_begin(plan, static_cast<int>(bucket)) ||
        ends.back() != plan.bucket_ends[bucket])
      return false;
  }
  return true;
}

void check(const LaneReductionPlan& plan, const Communicator& group, std::size_t arenas) {
  const auto fail = [](const std::string& why) { throw ShapeError("lane reduction: " + why); };
  if (plan.dtype != layers::DType::f32 && plan.dtype != layers::DType::f64)
    fail(fmt::format("gradients are f32 or f64, not {}", layers::name_of(plan.dtype)));
  if (static_cast<int>(plan.lanes_of.size()) != group.size())
    fail(fmt::format("the plan is for {}, but the group has {}",
                     counted(plan.lanes_of.size(), "replica"), group.size()));
  if (std::ranges::any_of(plan.lanes_of, [](int lanes) { return lanes < 1; }))
    fail("every replica needs a lane");
  const auto own = static_cast<std::size_t>(plan.lanes_of[static_cast<std::size_t>(group.rank())]);
  if (own != arenas)
    fail(fmt::format("found {} for {}", counted(arenas, "arena"), counted(own, "lane")));
  if (!std::ranges::is_sorted(plan.bucket_ends) ||
      (!plan.bucket_ends.empty() && plan.bucket_ends[0] < 0))
    fail("the ends of the buckets do not ascend");
  if (!plan.owned_ends.empty() && !owners_fit(plan))
    fail("the owners' elements do not add up to the buckets");
  if (plan.bucket_ends.size() > tags::reduction_buckets)
    fail(fmt::format("found {} buckets, expected at most {}", plan.bucket_ends.size(),
                     tags::reduction_buckets));
}

}  // namespace

ElementRange lane_piece(const LaneReductionPlan& plan, int bucket, int replica) {
  const std::vector<int> places = bit_reversed_places(static_cast<int>(plan.lanes_of.size()));
  return piece_at(plan, bucket, places[static_cast<std::size_t>(replica)]);
}

std::vector<ElementRange> lane_runs(const LaneReductionPlan& plan, int bucket,
                                    const std::vector<int>& places) {
  std::vector<ElementRange> runs;
  for (const int place : places) {
    const auto [begin, end] = piece_at(plan, bucket, place);
    if (begin == end) continue;
    if (!runs.empty() && runs.back().second == begin)
      runs.back().second = end;
    else
      runs.emplace_back(begin, end);
  }
  return runs;
}

std::size_t bucket_staging_bytes(const LaneReductionPlan& plan, const TreeRounds& sums, int bucket,
                                 int replica) {
  std::int64_t max = 0;
  for (const auto& round : sums) {
    std::int64_t received = 0;
    for (const TreeTransfer& transfer : round)
      if (transfer.from.replica != replica)
        for (const int place : transfer.places) {
          const auto [begin, end] = piece_at(plan, bucket, place);
          received += end - begin;
        }
    max = std::max(max, received);
  }
  return static_cast<std::size_t>(max) * layers::size_of(plan.dtype);
}

std::size_t staging_bytes(const LaneReductionPlan& plan, int replica) {
  const TreeRounds sums = sum_rounds(plan.lanes_of, replica);
  std::size_t bytes = 0;
  for (int bucket = 0; bucket < static_cast<int>(plan.bucket_ends.size()); ++bucket)
    bytes += bucket_staging_bytes(plan, sums, bucket, replica);
  return bytes;
}

struct LaneReduction::Bucket {
  bool started = false;
  std::size_t round = 0;    // the round in flight
  std::size_t staging = 0;  // offset of the bucket's part of the staging memory
  std::vector<std::unique_ptr<Transfer>> transfers = {};
};

LaneReduction::LaneReduction(Communicator& group, LaneReductionPlan plan,
                             std::vector<std::byte*> arenas)
    : group_(group), plan_(std::move(plan)), arenas_(std::move(arenas)) {
  check(plan_, group_, arenas_.size());
  rounds_ = sum_rounds(plan_.lanes_of, group_.rank());
  sum_rounds_ = rounds_.size();
  std::size_t staging = 0;
  for (int bucket = 0; bucket < static_cast<int>(plan_.bucket_ends.size()); ++bucket) {
    buckets_.emplace_back().staging = staging;
    staging += bucket_staging_bytes(plan_, rounds_, bucket, group_.rank());
  }
  staging_ = layers::host_buffer(staging);
  if (plan_.owned_ends.empty())
    std::ranges::move(gather_rounds(group_.size(), group_.rank()), std::back_inserter(rounds_));
}

LaneReduction::~LaneReduction() = default;

void LaneReduction::start(int bucket) {
  Bucket& state = buckets_.at(static_cast<std::size_t>(bucket));
  if (state.started)
    throw ShapeError(
        fmt::format("lane reduction: bucket {} was started twice in one step", bucket));
  state.started = true;
  state.round = 0;
  if (!rounds_.empty()) post_sums(bucket);
  advance(bucket);
}

/// Starts the messages of a round of sums: sends what other replicas add, and receives what this
/// one adds.
void LaneReduction::post_sums(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  const int tag = tags::reduction + 2 * bucket;
  std::byte* staged = staging_.data() + state.staging;
  for (const auto& [from, to, places] : rounds_[state.round]) {
    if (from.replica == to.replica) continue;
    for (const ElementRange& run : lane_runs(plan_, bucket, places)) {
      if (from.replica == group_.rank()) {
        const Message message{
            to.replica, tag, fmt::format("gradients of bucket {} to where they are added", bucket)};
        std::byte* const lane = arenas_[static_cast<std::size_t>(from.lane)];
        state.transfers.push_back(group_.send(message, bytes_of(plan_, lane, run)));
      } else {
        const Message message{
            from.replica, tag,
            fmt::format("gradients of bucket {} from lane {}", bucket, from.lane)};
        const std::span<std::byte> memory(staged, bytes_of(plan_, arenas_[0], run).size());
        state.transfers.push_back(group_.receive(message, memory));
        staged += memory.size();
      }
    }
  }
}

/// Adds what came in this round, or lies in another lane of this replica. Addition commutes, so it
/// does not matter which of a node's two sums comes from elsewhere.
void LaneReduction::add_received(int bucket) const {
  const Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  const std::byte* staged = staging_.data() + state.staging;
  for (const auto& [from, to, places] : rounds_[state.round]) {
    if (to.replica != group_.rank()) continue;
    for (const ElementRange& run : lane_runs(plan_, bucket, places)) {
      const auto sum = bytes_of(plan_, arenas_[static_cast<std::size_t>(to.lane)], run);
      const std::byte* other = staged;
      if (from.replica == group_.rank())
        other = bytes_of(plan_, arenas_[static_cast<std::size_t>(from.lane)], run).data();
      else
        staged += sum.size();
      if (plan_.dtype == layers::DType::f32)
        add_to<float>(sum, other);
      else
        add_to<double>(sum, other);
    }
  }
}

/// Starts the messages of a gather round. Sums are received over the partial sums that were sent
/// from there before.
void LaneReduction::post_gather(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  const int tag = tags::reduction + 2 * bucket + 1;
  const std::string what = fmt::format("summed gradients of bucket {}", bucket);
  for (const auto& [from, to, places] : rounds_[state.round]) {
    const bool sends = from.replica == group_.rank();
    for (const ElementRange& run : lane_runs(plan_, bucket, places)) {
      const auto memory = bytes_of(plan_, arenas_[0], run);
      state.transfers.push_back(sends ? group_.send({to.replica, tag, what}, memory)
                                      : group_.receive({from.replica, tag, what}, memory));
    }
  }
}

bool LaneReduction::advance(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  while (state.started && state.round < rounds_.size()) {
    std::erase_if(state.transfers, [](const auto& transfer) { return transfer->done(); });
    if (!state.transfers.empty()) return false;
    if (adds(state.round)) add_received(bucket);
    if (++state.round == rounds_.size()) break;
    if (adds(state.round))
      post_sums(bucket);
    else
      post_gather(bucket);
  }
  return state.started;
}

void LaneReduction::progress() {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    advance(static_cast<int>(bucket));
}

void LaneReduction::finish() {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    if (!buckets_[bucket].started)
      throw ShapeError(fmt::format("lane reduction: bucket {} was not started", bucket));
  Backoff backoff;
  const auto whole = [&](const Bucket& bucket) { return bucket.round == rounds_.size(); };
  while (progress(), !std::ranges::all_of(buckets_, whole)) {
    group_.progress();
    backoff.pause();
  }
  for (Bucket& bucket : buckets_) bucket.started = false;
}

}  // namespace penstock::comm
