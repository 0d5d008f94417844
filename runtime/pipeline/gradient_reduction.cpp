#include "runtime/pipeline/gradient_reduction.h"

#include <deque>
#include <thread>
#include <utility>

#include "layers/ops/optimizer.h"
#include "runtime/pipeline/nccl_reduction.h"

namespace penstock {
namespace {

/// A bucket's elements, in an arena.
struct Range {
  Range(const LaneReductionPlan& plan, int bucket)
      : dtype(plan.dtype),
        begin(bucket_begin(plan, bucket)),
        count(plan.bucket_ends[bucket] - begin) {}
  Tensor of(std::byte* arena) const {
    return {arena + static_cast<std::size_t>(begin) * size_of(dtype), dtype, {count}};
  }
  DType dtype;
  std::int64_t begin, count;
};

class OnHost final : public GradientReduction {
 public:
  OnHost(Communicator& replicas, const LaneReductionPlan& plan,
         const std::vector<std::byte*>& arenas)
      : lanes_(replicas, plan, arenas) {}

  void start(int bucket) override { lanes_.start(bucket); }
  void progress() override { lanes_.progress(); }
  void finish() override { lanes_.finish(); }
  std::size_t staging() const override { return lanes_.staging(); }

 private:
  LaneReduction lanes_;
};

class OnDevice final : public GradientReduction {
 public:
  OnDevice(Backend& backend, Stream& stream, const LaneReductionPlan& plan,
           const std::vector<std::byte*>& arenas)
      : backend_(backend), stream_(stream), plan_(plan), arenas_(arenas) {}

  void start(int bucket) override {
    const Range range(plan_, bucket);
    for (std::size_t lane = 1; lane < arenas_.size(); ++lane)
      backend_.run(stream_, AddInto{range.of(arenas_[lane]), range.of(arenas_[0])});
  }
  void progress() override {}
  void finish() override {}
  std::size_t staging() const override { return 0; }

 private:
  Backend& backend_;
  Stream& stream_;
  LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
};

/// Copies of the arenas on the host, in a stream of their own.
class ThroughHost final : public GradientReduction {
 public:
  ThroughHost(Backend& backend, Stream& computing, Communicator& replicas,
              const LaneReductionPlan& plan, const std::vector<std::byte*>& arenas)
      : backend_(backend),
        computing_(computing),
        out_(backend.make_stream()),
        replicas_(replicas),
        plan_(plan),
        arenas_(arenas),
        copies_(copies_of(backend, plan, arenas.size())),
        lanes_(replicas, plan, addresses(copies_)) {}

  void start(int bucket) override {
    const Range range(plan_, bucket);
    backend_.wait(*out_, *backend_.mark(computing_));
    for (std::size_t lane = 0; lane < arenas_.size(); ++lane) {
      const Tensor from = range.of(arenas_[lane]);
      backend_.copy_out_async(*out_, range.of(copies_[lane].data()).data, from.data, from.bytes());
    }
    leaving_.push_back({bucket, backend_.mark(*out_)});
  }

  void progress() override {
    for (; !leaving_.empty() && leaving_.front().second->reached(); leaving_.pop_front())
      lanes_.start(leaving_.front().first);
    lanes_.progress();
  }

  void finish() override {
    while (progress(), !leaving_.empty()) {
      replicas_.progress();
      std::this_thread::yield();
    }
    lanes_.finish();
    for (int bucket = 0; bucket < static_cast<int>(plan_.bucket_ends.size()); ++bucket) {
      const Tensor to = Range(plan_, bucket).of(arenas_[0]);
      backend_.copy_in_async(computing_, to.data, Range(plan_, bucket).of(copies_[0].data()).data,
                             to.bytes());
    }
  }

  std::size_t staging() const override { return lanes_.staging(); }

 private:
  static std::vector<Buffer> copies_of(Backend& backend, const LaneReductionPlan& plan,
                                       std::size_t lanes) {
    const auto elements =
        static_cast<std::size_t>(plan.bucket_ends.empty() ? 0 : plan.bucket_ends.back());
    std::vector<Buffer> copies;
    for (std::size_t lane = 0; lane < lanes; ++lane)
      copies.push_back(backend.allocate_host(elements * size_of(plan.dtype)));
    return copies;
  }
  static std::vector<std::byte*> addresses(const std::vector<Buffer>& buffers) {
    std::vector<std::byte*> addresses;
    for (const Buffer& buffer : buffers) addresses.push_back(buffer.data());
    return addresses;
  }

  Backend& backend_;
  Stream& computing_;
  std::unique_ptr<Stream> out_;
  Communicator& replicas_;
  LaneReductionPlan plan_;
  std::vector<std::byte*> arenas_;
  std::vector<Buffer> copies_;
  LaneReduction lanes_;
  std::deque<std::pair<int, std::unique_ptr<Mark>>> leaving_;  // buckets, in the order of start()
};

}  // namespace

std::unique_ptr<GradientReduction> make_gradient_reduction(Backend& backend, Stream& stream,
                                                           Communicator& replicas,
                                                           const LaneReductionPlan& plan,
                                                           const std::vector<std::byte*>& arenas,
                                                           DeviceLinks links) {
  if (backend.kind() == DeviceKind::cpu) return std::make_unique<OnHost>(replicas, plan, arenas);
  if (replicas.size() == 1) return std::make_unique<OnDevice>(backend, stream, plan, arenas);
  if (links == DeviceLinks::nccl)
    return std::make_unique<NcclReduction>(backend, stream, replicas, plan, arenas);
  return std::make_unique<ThroughHost>(backend, stream, replicas, plan, arenas);
}

}  // namespace penstock
