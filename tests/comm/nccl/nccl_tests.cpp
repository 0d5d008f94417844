// Run alone or under mpirun with any number of ranks, all of which run the same tests in the same
// order, on device 0 (NCCL_HOSTID differs between ranks that share a GPU) or one device for each.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "comm/mpi.h"
#include "comm/nccl.h"
#include "comm/threads.h"
#include "layers/backend.h"
#include "tests/support/communicator_cases.h"

namespace penstock {
namespace {

class Nccl : public ::testing::Test {
 public:
  static void set_world(Communicator& world) { world_ = &world; }

 protected:
  void SetUp() override {
    const int devices = cuda_device_count();
    if (devices == 0) GTEST_SKIP() << "no CUDA device here";
    const int device = world_->rank() % devices;
    cuda_ = make_cuda_backend(device);
    stream_ = cuda_->make_stream();
    nccl_ = make_nccl(*world_, {.device = device});
  }

  Buffer on_device(std::span<const std::byte> host) {
    Buffer buffer = cuda_->allocate(host.size());
    cuda_->copy_in(*stream_, buffer.data(), host.data(), host.size());
    cuda_->finish(*stream_);
    return buffer;
  }
  std::vector<std::byte> on_host(const Buffer& buffer) {
    std::vector<std::byte> host(buffer.bytes());
    cuda_->copy_out(*stream_, host.data(), buffer.data(), host.size());
    cuda_->finish(*stream_);
    return host;
  }

  static inline Communicator* world_ = nullptr;
  std::unique_ptr<Backend> cuda_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<NcclCommunicator> nccl_;
};

TEST_F(Nccl, PassesMessagesDownTheLine) {
  const int rank = world_->rank(), last = world_->size() - 1;
  if (last == 0) GTEST_SKIP() << "one rank has nobody to send to";
  for (std::size_t bytes : {std::size_t{13}, (std::size_t{5} << 20) + 7}) {
    const Buffer memory = on_device(test::noise(bytes, rank == 0 ? 1 : 2));
    const std::span<std::byte> data(memory.data(), bytes);
    if (rank > 0) wait(*nccl_, *nccl_->receive({rank - 1, 0, "activation"}, data));
    if (rank < last) wait(*nccl_, *nccl_->send({rank + 1, 0, "activation"}, data));
    EXPECT_EQ(on_host(memory), test::noise(bytes, 1));
  }
}

TEST_F(Nccl, AddsOverAllRanks) {
  const int size = world_->size();
  std::vector<float> values(1 << 20);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>((i % 1000) * (world_->rank() + 1.0));  // sums are exact
  const Buffer memory = on_device(std::as_bytes(std::span(values)));
  wait(*nccl_, *nccl_->all_reduce({reinterpret_cast<float*>(memory.data()), values.size()}));
  const std::vector<std::byte> bytes = on_host(memory);
  const auto* sums = reinterpret_cast<const float*>(bytes.data());
  for (std::size_t i = 0; i < values.size(); ++i)
    ASSERT_EQ(sums[i], static_cast<float>((i % 1000) * (size * (size + 1) / 2.0))) << i;
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::unique_ptr<penstock::Communicator> world =
      penstock::launcher_rank()
          ? penstock::join_mpi()
          : std::move(penstock::make_thread_communicators({.ranks = 1}).front());
  penstock::Nccl::set_world(*world);
  return RUN_ALL_TESTS();
}
