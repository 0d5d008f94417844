#include "comm/nccl.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/nccl/connection.h"
#include "layers/tensor/cuda/handles.h"

// Messages are work on one CUDA stream. A send or receive enqueues a kernel of NCCL and then an
// event, and the transfer is done when the stream has passed the event. So layers that are enqueued
// later see a received message without a wait on the host. Tags are not sent: messages between two
// ranks match in the order in which they are posted.
//
// A transfer that is not done yet asks for errors of NCCL and of the peers each time, since a
// kernel whose peer has died would spin for ever.

namespace penstock::comm {
namespace {

/// A message that is done when the stream has passed it. done() also checks the peers.
class NcclTransfer final : public Transfer {
 public:
  NcclTransfer(NcclConnection& connection, cudaStream_t stream, std::string what)
      : connection_(connection), event_(layers::cuda::make_event_handle()), what_(std::move(what)) {
    layers::cuda::check(cudaEventRecord(event_.get(), stream), "recording a message");
  }

  bool done() override {
    const cudaError_t status = cudaEventQuery(event_.get());
    if (status == cudaSuccess) return true;
    try {
      connection_.check();
      if (status != cudaErrorNotReady) layers::cuda::check(status, "waiting for a message");
    } catch (const Error& error) {
      throw CommError(fmt::format("{}: {}", what_, error.what()));
    }
    return false;
  }

 private:
  NcclConnection& connection_;
  layers::cuda::EventHandle event_;
  std::string what_;
};

class Nccl final : public NcclCommunicator {
 public:
  Nccl(Communicator& meeting, const NcclOptions& options)
      : meeting_(meeting),
        stream_(static_cast<cudaStream_t>(options.stream)),
        connection_(meeting, options) {}

  int rank() const override { return meeting_.rank(); }
  int size() const override { return meeting_.size(); }

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    connection_.await(ncclSend(data.data(), data.size(), ncclInt8,
                               connection_.number_of(message.peer), connection_.get(), stream_),
                      "sending");
    return started(fmt::format("sending {} to rank {}", message.what, message.peer));
  }

  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    connection_.await(ncclRecv(data.data(), data.size(), ncclInt8,
                               connection_.number_of(message.peer), connection_.get(), stream_),
                      "receiving");
    return started(fmt::format("receiving {} from rank {}", message.what, message.peer));
  }

  std::unique_ptr<Transfer> exchange(std::span<const NcclExchange> parts,
                                     const std::string& what) override {
    // number_of() may throw, and nothing may skip ncclGroupEnd(): peers are looked up before the
    // group starts, and a failed call's status is kept until the group has ended.
    std::vector<int> peers;
    for (const NcclExchange& part : parts) peers.push_back(connection_.number_of(part.peer));
    ncclGroupStart();
    ncclResult_t failed = ncclSuccess;
    const auto keep = [&failed](ncclResult_t status) {
      if (status != ncclSuccess && status != ncclInProgress) failed = status;
    };
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const NcclExchange& part = parts[i];
      const int peer = peers[i];
      if (!part.sent.empty())
        keep(ncclSend(part.sent.data(), part.sent.size(), ncclInt8, peer, connection_.get(),
                      stream_));
      if (!part.received.empty())
        keep(ncclRecv(part.received.data(), part.received.size(), ncclInt8, peer, connection_.get(),
                      stream_));
    }
    const ncclResult_t ended = ncclGroupEnd();
    connection_.await(failed == ncclSuccess ? ended : failed, "exchanging");
    return started("exchanging " + what);
  }

  std::unique_ptr<Transfer> all_reduce(std::span<float> values) override {
    return add(values.data(), values.size(), ncclFloat32);
  }
  std::unique_ptr<Transfer> all_reduce(std::span<double> values) override {
    return add(values.data(), values.size(), ncclFloat64);
  }

  void progress() override { connection_.check(); }

  Shutdown& shutdown() override { return meeting_.shutdown(); }

  void abort(int exit_code) override {
    shutdown().revoke();
    meeting_.abort(exit_code);
  }

 private:
  std::unique_ptr<Transfer> add(void* values, std::size_t count, ncclDataType_t type) {
    connection_.await(
        ncclAllReduce(values, values, count, type, ncclSum, connection_.get(), stream_),
        "reducing");
    return started(fmt::format("reducing {}", counted(count, "number")));
  }
  std::unique_ptr<Transfer> started(std::string what) {
    return std::make_unique<NcclTransfer>(connection_, stream_, std::move(what));
  }

  Communicator& meeting_;
  cudaStream_t stream_;
  NcclConnection connection_;
};

}  // namespace

bool nccl_is_built() { return true; }

std::unique_ptr<NcclCommunicator> make_nccl(Communicator& meeting, const NcclOptions& options) {
  return std::make_unique<Nccl>(meeting, options);
}

}  // namespace penstock::comm
