// Replicas whose memory lies on devices add up gradients and gather updates here, over either link.
#include "runtime/pipeline/gradient_reduction.h"

#include <gtest/gtest.h>

#include <vector>

#include "comm/threads.h"
#include "tests/support/comm/nccl_devices.h"

namespace penstock::runtime {
namespace {

using Numbers = std::vector<float>;

constexpr std::int64_t kElements = 5003;
const std::vector<int> kLanesOf = {1, 2, 1};

/// Ragged, with buckets of which some replicas own nothing.
const comm::LaneReductionPlan kPlan = {layers::DType::f32,
                                       {700, 701, kElements},
                                       kLanesOf,
                                       {{0, 700, 700}, {700, 700, 701}, {1101, 4000, kElements}}};

Numbers numbers(int seed) {
  Numbers numbers(kElements);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = 1.0f / static_cast<float>(i % 97 + 3 + 5 * static_cast<std::size_t>(seed));
  return numbers;
}

/// (l0 + l1) + (l2 + l3)
Numbers sums(int first_seed) {
  Numbers sums = numbers(first_seed);
  const Numbers right = numbers(first_seed + 2);
  const Numbers second = numbers(first_seed + 1), fourth = numbers(first_seed + 3);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = (sums[i] + second[i]) + (right[i] + fourth[i]);
  return sums;
}

/// A replica's memory on its device.
struct Device {
  Device(int device, int lanes) : backend(layers::make_cuda_backend(device)) {
    for (int lane = 0; lane < lanes + 2; ++lane) {
      buffers.push_back(backend->allocate(kElements * sizeof(float)));
      arenas.push_back(buffers.back().data());
    }
  }
  void put(int buffer, const Numbers& numbers) {
    backend->copy_in(*stream, arenas[static_cast<std::size_t>(buffer)], numbers.data(),
                     kElements * sizeof(float));
  }
  Numbers get(int buffer) {
    Numbers numbers(kElements);
    backend->copy_out(*stream, numbers.data(), arenas[static_cast<std::size_t>(buffer)],
                      kElements * sizeof(float));
    backend->synchronize(*stream);
    return numbers;
  }

  std::unique_ptr<layers::Backend> backend;
  std::unique_ptr<layers::Stream> stream = backend->make_stream();
  std::vector<layers::Buffer> buffers;
  std::vector<std::byte*> arenas;  // of the lanes, of what is gathered, and one more
};

void expect_own(const Numbers& found, const Numbers& expected, int replica) {
  for (int bucket = 0; bucket < 3; ++bucket) {
    const auto [begin, end] = comm::lane_piece(kPlan, bucket, replica);
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i)
      ASSERT_EQ(found[i], expected[i]) << "replica " << replica << ", element " << i;
  }
}

SharedArena shared(std::byte* data) {
  SharedArena arena{data, {{}, {}, {}}};
  for (int bucket = 0; bucket < 3; ++bucket)
    for (int replica = 0; replica < 3; ++replica) {
      const auto [begin, end] = comm::lane_piece(kPlan, bucket, replica);
      arena.of_replicas[static_cast<std::size_t>(replica)].emplace_back(begin * sizeof(float),
                                                                        end * sizeof(float));
    }
  return arena;
}

/// Two steps: sums for their owners, then what these make of them for all.
void exchange(comm::Communicator& replicas, DeviceLinks links) {
  const int replica = replicas.rank(), lanes = kLanesOf[static_cast<std::size_t>(replica)];
  const int first_lane = replica == 0 ? 0 : replica == 1 ? 1 : 3;
  Device device(links == DeviceLinks::nccl ? replica : 0, lanes);
  const std::vector<std::byte*> arenas(device.arenas.begin(), device.arenas.begin() + lanes);
  const auto reduction =
      make_gradient_reduction({*device.backend, *device.stream, replicas, kPlan, arenas, links});
  for (const int step : {0, 10}) {
    for (int lane = 0; lane < lanes; ++lane) device.put(lane, numbers(step + first_lane + lane));
    for (int bucket : {2, 1, 0}) {
      reduction->start(bucket);
      reduction->progress();
    }
    reduction->finish();
    expect_own(device.get(0), sums(step), replica);

    const SharedArena arena = shared(device.arenas[static_cast<std::size_t>(lanes)]);
    device.put(lanes, Numbers(kElements, -1));
    const Numbers renewed = numbers(step + 50);
    device.put(lanes + 1, renewed);
    for (const auto& [begin, end] : arena.of_replicas[static_cast<std::size_t>(replica)])
      device.backend->copy(*device.stream, arena.data + begin, device.arenas.back() + begin,
                           end - begin);
    reduction->gather(arena);
    EXPECT_EQ(device.get(lanes), renewed) << "replica " << replica;
  }
}

class CudaGradientReduction : public ::testing::TestWithParam<const char*> {};

TEST_P(CudaGradientReduction, ReducesToOwnersAndGathersTheirUpdates) {
  const bool nccl = GetParam() == std::string("nccl");
  if (layers::cuda_device_count() == 0) GTEST_SKIP() << "no CUDA device here";
  if (const auto lack = nccl ? test::lack_for_nccl(3) : ""; !lack.empty()) GTEST_SKIP() << lack;
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& replicas) {
    exchange(replicas, nccl ? DeviceLinks::nccl : DeviceLinks::host);
  });
}

INSTANTIATE_TEST_SUITE_P(Cuda, CudaGradientReduction, ::testing::Values("host", "nccl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace penstock::runtime
