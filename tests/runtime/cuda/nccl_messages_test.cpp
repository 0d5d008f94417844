#include "runtime/pipeline/nccl_messages.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "base/error.h"
#include "comm/threads.h"
#include "partition/schedule/make_schedule.h"
#include "runtime/pipeline/edge_tag.h"
#include "tests/support/comm/communicator_cases.h"

namespace penstock {
namespace {

/// A stage with a device of its own.
struct DeviceStage {
  explicit DeviceStage(Communicator& pipeline)
      : backend(make_cuda_backend(pipeline.rank())),
        stream(backend->make_stream([this] {
          if (messages != nullptr) messages->progress();
        })),
        messages(std::make_unique<NcclMessages>(pipeline, chunk_ranks("gpipe", pipeline.size()),
                                                *backend, *stream)) {}

  std::unique_ptr<Backend> backend;
  std::unique_ptr<Stream> stream;
  Buffer memory;  // outlives what is under way
  std::unique_ptr<NcclMessages> messages;
};

// More than NCCL buffers of a message.
constexpr std::size_t kBytes = (std::size_t{4} << 20) + 77;

/// A micro-batch that no stage changes: what the first sends comes back to it as a gradient.
struct Flight {
  Buffer activation, gradient;
  std::unique_ptr<Transfer> activation_in, activation_out, gradient_in, gradient_out;
};

void perform(DeviceStage& stage, const Action& action, Flight& flight, int chunks) {
  const int chunk = action.chunk;
  NcclMessages& messages = *stage.messages;
  const std::span<std::byte> activation(flight.activation.data(), kBytes),
      gradient(flight.gradient.data(), kBytes);
  const auto upwards = [&](int producer) {
    return Message{chunk == producer ? producer + 1 : producer, edge_tag(producer, false),
                   "activation"};
  };
  const auto downwards = [&](int producer) {
    return Message{chunk == producer ? producer - 1 : producer, edge_tag(producer, true),
                   "gradient"};
  };
  switch (action.kind) {
    case ActionKind::receive_activation:
      flight.activation_in = messages.receive(upwards(chunk - 1), activation);
      break;
    case ActionKind::forward: {
      if (chunk > 0) return wait(messages, *flight.activation_in);
      const std::vector<std::byte> noise = test::noise(kBytes, action.micro_batch);
      stage.backend->copy_in(*stage.stream, activation.data(), noise.data(), kBytes);
      break;
    }
    case ActionKind::send_activation:
      flight.activation_out = messages.send(upwards(chunk), activation);
      break;
    case ActionKind::receive_gradient:
      flight.gradient_in = messages.receive(downwards(chunk + 1), gradient);
      break;
    case ActionKind::backward:
    case ActionKind::backward_input:
      if (chunk + 1 < chunks) return wait(messages, *flight.gradient_in);
      stage.backend->copy(*stage.stream, gradient.data(), activation.data(), kBytes);
      break;
    case ActionKind::send_gradient:
      flight.gradient_out = messages.send(downwards(chunk), gradient);
      break;
    default:
      break;  // nothing is added up here
  }
}

void run(Communicator& pipeline, const Schedule& schedule) {
  DeviceStage stage(pipeline);
  std::vector<Flight> flights(static_cast<std::size_t>(schedule.micro_batches));
  for (Flight& flight : flights) {
    flight.activation = stage.backend->allocate(kBytes);
    flight.gradient = stage.backend->allocate(kBytes);
  }
  for (const Action& action : schedule.ranks.at(static_cast<std::size_t>(pipeline.rank())))
    perform(stage, action, flights[static_cast<std::size_t>(action.micro_batch)],
            schedule.chunks());
  for (std::size_t m = 0; m < flights.size(); ++m) {
    for (auto* sent : {&flights[m].activation_out, &flights[m].gradient_out})
      if (*sent != nullptr) wait(*stage.messages, **sent);
    std::vector<std::byte> back(kBytes);
    stage.backend->copy_out(*stage.stream, back.data(), flights[m].gradient.data(), kBytes);
    stage.backend->synchronize(*stage.stream);
    EXPECT_EQ(back, test::noise(kBytes, m))
        << schedule.name << ", stage " << pipeline.rank() << ", micro-batch " << m;
  }
}

class CudaNcclMessages : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!nccl_is_built() || cuda_device_count() < 3)
      GTEST_SKIP() << "no NCCL, or fewer than 3 devices";
  }
};

TEST_F(CudaNcclMessages, OfAnyLengthEndInEverySchedule) {
  for (const char* name : {"gpipe", "1f1b", "zb-h1"})
    for (const int stages : {2, 3}) {
      const Schedule schedule = make_schedule(name, stages, 4);
      run_as_threads({.ranks = stages}, [&](Communicator& pipeline) { run(pipeline, schedule); });
    }
}

/// Waits for what its peer does not send.
void receive_in_vain(Communicator& pipeline) {
  DeviceStage stage(pipeline);
  stage.memory = stage.backend->allocate(kBytes);
  wait(*stage.messages,
       *stage.messages->receive({1, edge_tag(1, true), "gradient"}, {stage.memory.data(), kBytes}));
  stage.backend->synchronize(*stage.stream);
}

TEST_F(CudaNcclMessages, NameTheEdgeWhosePeerHasDied) {
  run_as_threads({.ranks = 2}, [](Communicator& pipeline) {
    try {
      if (pipeline.rank() == 0) receive_in_vain(pipeline);
      const DeviceStage stage(pipeline);
      throw std::runtime_error("dies");
    } catch (const CommError& error) {
      const std::string message = error.what();
      EXPECT_NE(message.find("from stage "), std::string::npos) << message;
      EXPECT_NE(message.find("remote process exited"), std::string::npos) << message;
    } catch (const std::runtime_error&) {
      EXPECT_EQ(pipeline.rank(), 1);
    }
  });
}

}  // namespace
}  // namespace penstock
