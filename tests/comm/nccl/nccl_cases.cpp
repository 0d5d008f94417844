#include "tests/comm/nccl/nccl_cases.h"

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <vector>

#include "comm/nccl.h"
#include "comm/threads.h"
#include "layers/backend.h"
#include "tests/support/comm/communicator_cases.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::comm {
namespace {

/// A rank's device, and NCCL to the others.
class Rank {
 public:
  explicit Rank(Communicator& world)
      : cuda_(layers::make_cuda_backend(world.rank() % layers::cuda_device_count())),
        stream_(cuda_->make_stream()),
        messages_(cuda_->make_stream()),
        nccl_(make_nccl(world, {.stream = messages_->native()})) {}

  NcclCommunicator& nccl() { return *nccl_; }

  layers::Buffer on_device(std::span<const std::byte> host) {
    layers::Buffer buffer = cuda_->allocate(host.size());
    cuda_->copy_in(*stream_, buffer.data(), host.data(), host.size());
    cuda_->synchronize(*stream_);
    return buffer;
  }
  std::vector<std::byte> on_host(const layers::Buffer& buffer) {
    std::vector<std::byte> host(buffer.bytes());
    cuda_->copy_out(*stream_, host.data(), buffer.data(), host.size());
    cuda_->synchronize(*stream_);
    return host;
  }

 private:
  std::unique_ptr<layers::Backend> cuda_;
  std::unique_ptr<layers::Stream> stream_, messages_;
  std::unique_ptr<NcclCommunicator> nccl_;
};

template <class T>
void adds_over_all_ranks(Communicator& world) {
  Rank rank(world);
  const int size = world.size();
  std::vector<T> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>((i % 1000) * (world.rank() + 1.0));  // sums are exact
  const layers::Buffer memory = rank.on_device(std::as_bytes(std::span(values)));
  wait(rank.nccl(),
       *rank.nccl().all_reduce(std::span(reinterpret_cast<T*>(memory.data()), values.size())));
  const std::vector<std::byte> bytes = rank.on_host(memory);
  const auto* sums = reinterpret_cast<const T*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(sums[i], static_cast<T>((i % 1000) * (size * (size + 1) / 2.0))) << i;
}

test::TrainingJob job_on_device() {
  test::TrainingJob job = test::small_job();
  job.device = layers::DeviceKind::cuda;
  job.lanes = 2;
  job.steps = 2;
  job.shrink = 3;
  return job;
}

test::TrainingOutcome train_alone(const test::TrainingJob& job) {
  return train_rank(job, *make_thread_communicators({.ranks = 1}).front());
}

}  // namespace

void nccl_passes_messages_down_the_line(Communicator& world) {
  Rank rank(world);
  const int number = world.rank(), last = world.size() - 1;
  for (std::size_t bytes : {std::size_t{13}, (std::size_t{5} << 20) + 7}) {
    const layers::Buffer memory = rank.on_device(test::noise(bytes, number == 0 ? 1 : 2));
    const std::span<std::byte> data(memory.data(), bytes);
    if (number > 0) wait(rank.nccl(), *rank.nccl().receive({number - 1, 0, "activation"}, data));
    if (number < last) wait(rank.nccl(), *rank.nccl().send({number + 1, 0, "activation"}, data));
    EXPECT_EQ(rank.on_host(memory), test::noise(bytes, 1));
  }
}

void nccl_adds_over_all_ranks(Communicator& world) {
  adds_over_all_ranks<float>(world);
  adds_over_all_ranks<double>(world);
}

void nccl_trains_as_one_stage(Communicator& world) {
  test::TrainingJob job = job_on_device();
  const test::TrainingOutcome alone = train_alone(job);
  job.links = runtime::DeviceLinks::nccl;
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const int replicas : {1, 2}) {
      if (world.size() % replicas != 0) continue;
      job.schedule = schedule;
      job.stages = world.size() / replicas;
      job.replicas = replicas;
      const test::TrainingOutcome together = train_rank(job, world);
      EXPECT_EQ(together.losses, alone.losses) << schedule << ", " << replicas << " replicas";
      EXPECT_EQ(together.norms, alone.norms) << schedule << ", " << replicas << " replicas";
    }
}

// A sum of two test::numbers has one order.
void nccl_adds_two_replicas_itself(Communicator& world) {
  test::TrainingJob job = job_on_device();
  const test::TrainingOutcome alone = train_alone(job);
  job.links = runtime::DeviceLinks::nccl;
  job.reduction = runtime::ReductionOrder::library;
  job.replicas = 2;
  job.stages = world.size() / 2;
  const test::TrainingOutcome together = train_rank(job, world);
  EXPECT_EQ(together.losses, alone.losses);
  EXPECT_EQ(together.norms, alone.norms);
}

}  // namespace penstock::comm
