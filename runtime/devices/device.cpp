#include "runtime/devices/device.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/nccl.h"
#include "runtime/devices/rank_info.h"

// Ranks gather what each knows of its machine, and then every rank decides for itself from the same
// list. So all come to the same result, or throw the same error, without a further message. A
// rank's device is its number among the ranks of its machine, modulo the machine's devices. NCCL
// carries messages only if no device is dealt twice, unless all were told that they may share.

namespace penstock::runtime {
namespace {

constexpr const char* kTf32OnCpu = "precision.compute is tf32, which the CPU computes as fp32";

bool lacks(const RankInfo& info) { return info.devices == 0; }
bool on_cuda(const RankInfo& info) { return info.kind == layers::DeviceKind::cuda; }
bool on_cpu(const RankInfo& info) { return info.kind == layers::DeviceKind::cpu; }

const std::string& absence_in(const std::vector<RankInfo>& ranks) {
  return std::ranges::find_if(ranks, lacks)->absence;
}

/// Throws unless all ranks use one kind of device and have one.
void check(const std::vector<RankInfo>& ranks) {
  const auto lacking = [](const RankInfo& info) { return on_cuda(info) && lacks(info); };
  if (std::ranges::any_of(ranks, lacking))
    throw DeviceError(fmt::format(
        "trainer.device is \"cuda\", but there is no CUDA device for {} ({}): use machines with a "
        "GPU and its driver, or set trainer.device = \"cpu\"",
        ranks_where(ranks, lacking), absence_in(ranks)));
  if (std::ranges::any_of(ranks, on_cuda) && std::ranges::any_of(ranks, on_cpu))
    throw ConfigError(fmt::format(
        "ranks of one job compute on one kind of device, but trainer.device gives a CUDA device to "
        "{} and the CPU to {}: set it to \"cpu\", or start all ranks where there is a GPU",
        ranks_where(ranks, on_cuda), ranks_where(ranks, on_cpu)));
}

std::string how_chosen(const configs::TrainerConfig& config) {
  if (config.device != "auto") return "";
  return device_kind(config) == layers::DeviceKind::cuda
             ? "trainer.device is auto, and a CUDA device was found"
             : fmt::format("trainer.device is auto, and there is no CUDA device: {}",
                           layers::cuda_absence());
}

/// Explains why ranks on CUDA devices can't use NCCL; "" if they can. A rank whose number on its
/// machine is not below the number of devices shares one with an earlier rank.
std::string why_not_nccl(const std::vector<RankInfo>& ranks) {
  if (!std::ranges::all_of(ranks, &RankInfo::nccl)) return "this penstock was built without NCCL";
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    if (local_rank(ranks, static_cast<int>(rank)) >= ranks[rank].devices &&
        !ranks[rank].shares_devices)
      return fmt::format("{} has more ranks than its {}, and NCCL needs one for each rank",
                         ranks[rank].machine, counted(ranks[rank].devices, "CUDA device"));
  return "";
}

/// Throws DeviceError if a rank's CUDA is too old for several NCCL communicators. Every rank has
/// several: each edge has one per direction, and norms and reductions over replicas have their own.
void check_launch_order(const std::vector<RankInfo>& ranks) {
  const auto disorders = [](const RankInfo& info) {
    return !comm::nccl_orders_launches(info.cuda);
  };
  const auto found = std::ranges::find_if(ranks, disorders);
  if (found == ranks.end()) return;
  throw DeviceError(fmt::format(
      "NCCL needs CUDA 12.3 or newer to send over several communicators without a deadlock, and "
      "found a driver for CUDA {1} and CUDA's runtime {2} ({0}): install a driver of 545 or newer "
      "and CUDA's libraries of 12.3 or newer there, or start one rank",
      ranks_where(ranks, disorders), layers::cuda_version_text(found->cuda.driver),
      layers::cuda_version_text(found->cuda.runtime)));
}

std::string carried_by(const std::string& why_not_nccl) {
  if (why_not_nccl.empty()) return "NCCL carries activations and gradients";
  return fmt::format(
      "activations and gradients pass through pinned memory and the host's messages: {}",
      why_not_nccl);
}

std::string joined(const std::string& first, const std::string& second) {
  return fmt::format("{}{}{}", first, first.empty() || second.empty() ? "" : "; ", second);
}

}  // namespace

layers::DeviceKind device_kind(const configs::TrainerConfig& config) {
  if (config.device == "cuda") return layers::DeviceKind::cuda;
  if (config.device == "cpu") return layers::DeviceKind::cpu;
  if (config.device == "auto")
    return layers::cuda_device_count() > 0 ? layers::DeviceKind::cuda : layers::DeviceKind::cpu;
  throw ConfigError(
      fmt::format("trainer.device is \"{}\", expected auto, cpu or cuda", config.device));
}

layers::Fp32Products fp32_products(const configs::PrecisionConfig& precision) {
  return precision.compute == "tf32" ? layers::Fp32Products::tf32 : layers::Fp32Products::full;
}

std::unique_ptr<layers::Backend> make_backend(const configs::TrainerConfig& config,
                                              const configs::PrecisionConfig& precision) {
  return device_kind(config) == layers::DeviceKind::cuda
             ? layers::make_cuda_backend(0, fp32_products(precision))
             : layers::make_cpu_backend(config.threads);
}

void require_devices(const configs::TrainerConfig& config, comm::Communicator& world) {
  check(info_of_ranks(config, world));
}

// For example, 5 ranks on a machine with 2 devices get the devices 0, 1, 0, 1, 0. NCCL refuses to
// use a device twice unless NCCL_HOSTID is set, so their messages pass through the host.
RankDevice choose_device(const configs::TrainerConfig& config, comm::Communicator& world,
                         const configs::PrecisionConfig& precision) {
  const layers::Fp32Products products = fp32_products(precision);
  const std::vector<RankInfo> ranks = info_of_ranks(config, world);
  check(ranks);
  RankDevice device;
  device.how = how_chosen(config);
  const RankInfo& own = ranks[static_cast<std::size_t>(world.rank())];
  if (on_cpu(own)) {
    device.backend = layers::make_cpu_backend(config.threads);
    if (products == layers::Fp32Products::tf32) device.how = joined(device.how, kTf32OnCpu);
    return device;
  }
  const int number = local_rank(ranks, world.rank()) % own.devices;
  device.backend = layers::make_cuda_backend(number, products);
  device.place = fmt::format("CUDA device {} of {}", number, own.machine);
  if (ranks.size() == 1) return device;
  const std::string why_not = why_not_nccl(ranks);
  if (why_not.empty()) {
    check_launch_order(ranks);
    device.links = DeviceLinks::nccl;
  }
  device.how = joined(device.how, carried_by(why_not));
  return device;
}

}  // namespace penstock::runtime
