#include "comm/lane_reduction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>
#include <utility>

#include "base/counted.h"
#include "base/error.h"
#include "comm/backoff.h"
#include "comm/tags.h"
#include "layers/tensor/tensor.h"

namespace penstock::comm {
namespace {

constexpr std::int64_t kPieceStep = 16;  // pieces start on cache lines of their bucket

std::int64_t piece_elements(std::int64_t bucket_elements, int replicas) {
  const std::int64_t even = (bucket_elements + replicas - 1) / replicas;
  return (even + kPieceStep - 1) / kPieceStep * kPieceStep;
}

/// sum = ((lanes[0] + lanes[1]) + …), which may lie over one of the lanes.
template <class T>
void add_lanes(const std::vector<const std::byte*>& lanes, std::byte* sum, std::int64_t elements) {
  constexpr std::int64_t kBlock = 1024;
  T block[kBlock];
  for (std::int64_t begin = 0; begin < elements; begin += kBlock) {
    const std::int64_t count = std::min(kBlock, elements - begin);
    const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
    std::memcpy(block, lanes[0] + begin * sizeof(T), bytes);
    for (std::size_t lane = 1; lane < lanes.size(); ++lane) {
      const T* values = reinterpret_cast<const T*>(lanes[lane]) + begin;
      for (std::int64_t i = 0; i < count; ++i) block[i] += values[i];
    }
    std::memcpy(sum + begin * sizeof(T), block, bytes);
  }
}

/// True where every bucket ends with its last owner's elements.
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

std::pair<std::int64_t, std::int64_t> lane_piece(const LaneReductionPlan& plan, int bucket,
                                                 int replica) {
  const auto b = static_cast<std::size_t>(bucket);
  const std::int64_t begin = bucket_begin(plan, bucket), end = plan.bucket_ends[b];
  if (!plan.owned_ends.empty()) {
    const std::vector<std::int64_t>& ends = plan.owned_ends[b];
    const auto r = static_cast<std::size_t>(replica);
    return {r == 0 ? begin : ends[r - 1], ends[r]};
  }
  const std::int64_t step = piece_elements(end - begin, static_cast<int>(plan.lanes_of.size()));
  return {std::min(end, begin + replica * step), std::min(end, begin + (replica + 1) * step)};
}

struct LaneReduction::Piece {
  std::size_t offset, bytes;  // in an arena
};

struct LaneReduction::Bucket {
  enum class Phase { idle, scattering, gathering, whole } phase = Phase::idle;
  std::size_t staging = 0;  // where the other lanes' pieces are kept
  std::vector<std::unique_ptr<Transfer>> transfers;
};

std::size_t staging_bytes(const LaneReductionPlan& plan, int replica) {
  const auto lanes = std::accumulate(plan.lanes_of.begin(), plan.lanes_of.end(), 0);
  const int others = lanes - plan.lanes_of[static_cast<std::size_t>(replica)];
  std::size_t bytes = 0;
  for (int bucket = 0; bucket < static_cast<int>(plan.bucket_ends.size()); ++bucket) {
    const auto [begin, end] = lane_piece(plan, bucket, replica);
    bytes += static_cast<std::size_t>(others) * static_cast<std::size_t>(end - begin) *
             layers::size_of(plan.dtype);
  }
  return bytes;
}

LaneReduction::LaneReduction(Communicator& group, LaneReductionPlan plan,
                             std::vector<std::byte*> arenas)
    : group_(group), plan_(std::move(plan)), arenas_(std::move(arenas)) {
  check(plan_, group_, arenas_.size());
  first_lane_.push_back(0);
  for (int lanes : plan_.lanes_of) first_lane_.push_back(first_lane_.back() + lanes);
  staging_ = layers::host_buffer(staging_bytes(plan_, group_.rank()));
  std::size_t staging = 0;
  for (std::size_t i = 0; i < plan_.bucket_ends.size(); ++i) {
    buckets_.emplace_back().staging = staging;
    staging += piece_of(static_cast<int>(i), group_.rank()).bytes *
               (static_cast<std::size_t>(first_lane_.back()) - arenas_.size());
  }
}

LaneReduction::~LaneReduction() = default;

LaneReduction::Piece LaneReduction::piece_of(int bucket, int replica) const {
  const auto [begin, end] = lane_piece(plan_, bucket, replica);
  const std::size_t size = layers::size_of(plan_.dtype);
  return {static_cast<std::size_t>(begin) * size, static_cast<std::size_t>(end - begin) * size};
}

void LaneReduction::start(int bucket) {
  if (buckets_.at(static_cast<std::size_t>(bucket)).phase != Bucket::Phase::idle)
    throw ShapeError(
        fmt::format("lane reduction: bucket {} was started twice in one step", bucket));
  scatter(bucket);
  advance(bucket);
}

/// Every lane's piece goes to the replica that adds it up.
void LaneReduction::scatter(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  const int tag = tags::reduction + 2 * bucket;
  const std::string of = fmt::format("gradients of bucket {}", bucket);
  std::byte* staged = staging_.data() + state.staging;
  const Piece own = piece_of(bucket, group_.rank());
  for (int replica = 0; replica < group_.size(); ++replica) {
    if (replica == group_.rank()) continue;
    const auto r = static_cast<std::size_t>(replica);
    for (int lane = first_lane_[r]; own.bytes > 0 && lane < first_lane_[r + 1]; ++lane) {
      const Message message{replica, tag, fmt::format("{} from lane {}", of, lane)};
      state.transfers.push_back(group_.receive(message, {staged, own.bytes}));
      staged += own.bytes;
    }
    const Piece piece = piece_of(bucket, replica);
    for (std::size_t i = 0; piece.bytes > 0 && i < arenas_.size(); ++i)
      state.transfers.push_back(group_.send({replica, tag, of + " to where they are added"},
                                            {arenas_[i] + piece.offset, piece.bytes}));
  }
  state.phase = Bucket::Phase::scattering;
}

void LaneReduction::add_own_piece(int bucket) const {
  const Piece piece = piece_of(bucket, group_.rank());
  const auto rank = static_cast<std::size_t>(group_.rank());
  const std::byte* staged = staging_.data() + buckets_[static_cast<std::size_t>(bucket)].staging;
  std::vector<const std::byte*> lanes;
  for (int lane = 0; lane < first_lane_.back(); ++lane) {
    const int own = lane - first_lane_[rank];
    if (own >= 0 && lane < first_lane_[rank + 1]) {
      lanes.push_back(arenas_[static_cast<std::size_t>(own)] + piece.offset);
    } else {
      lanes.push_back(staged);
      staged += piece.bytes;
    }
  }
  const auto elements = static_cast<std::int64_t>(piece.bytes / layers::size_of(plan_.dtype));
  std::byte* sum = arenas_[0] + piece.offset;
  if (plan_.dtype == layers::DType::f32)
    add_lanes<float>(lanes, sum, elements);
  else
    add_lanes<double>(lanes, sum, elements);
}

/// Sums go to every replica. A receive overwrites what scatter() sent, so it is posted behind it.
void LaneReduction::gather(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  const int tag = tags::reduction + 2 * bucket + 1;
  const std::string what = fmt::format("summed gradients of bucket {}", bucket);
  const Piece own = piece_of(bucket, group_.rank());
  for (int replica = 0; replica < group_.size(); ++replica) {
    if (replica == group_.rank()) continue;
    const Message message{replica, tag, what};
    const Piece piece = piece_of(bucket, replica);
    if (piece.bytes > 0)
      state.transfers.push_back(group_.receive(message, {arenas_[0] + piece.offset, piece.bytes}));
    if (own.bytes > 0)
      state.transfers.push_back(group_.send(message, {arenas_[0] + own.offset, own.bytes}));
  }
  state.phase = Bucket::Phase::gathering;
}

bool LaneReduction::advance(int bucket) {
  Bucket& state = buckets_[static_cast<std::size_t>(bucket)];
  using Phase = Bucket::Phase;
  while (state.phase == Phase::scattering || state.phase == Phase::gathering) {
    std::erase_if(state.transfers, [](const auto& transfer) { return transfer->done(); });
    if (!state.transfers.empty()) return false;
    const bool scattered = state.phase == Phase::scattering;
    if (scattered) add_own_piece(bucket);
    if (scattered && plan_.owned_ends.empty())
      gather(bucket);
    else
      state.phase = Phase::whole;
  }
  return state.phase == Phase::whole;
}

void LaneReduction::progress() {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    advance(static_cast<int>(bucket));
}

void LaneReduction::finish() {
  for (std::size_t bucket = 0; bucket < buckets_.size(); ++bucket)
    if (buckets_[bucket].phase == Bucket::Phase::idle)
      throw ShapeError(fmt::format("lane reduction: bucket {} was not started", bucket));
  Backoff backoff;
  const auto whole = [](const Bucket& bucket) { return bucket.phase == Bucket::Phase::whole; };
  while (progress(), !std::ranges::all_of(buckets_, whole)) {
    group_.progress();
    backoff.pause();
  }
  for (Bucket& bucket : buckets_) bucket.phase = Bucket::Phase::idle;
}

}  // namespace penstock::comm
