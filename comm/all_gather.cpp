#include "comm/all_gather.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/counted.h"
#include "base/error.h"
#include "comm/tags.h"

namespace penstock::comm {

void all_gather(Communicator& group, const RankParts& parts) {
  if (std::ssize(parts) != group.size())
    throw ShapeError(fmt::format("all-gather: parts of {} in a group of {}",
                                 counted(parts.size(), "rank"), group.size()));
  std::vector<std::unique_ptr<Transfer>> transfers;
  for (int peer = 0; peer < group.size(); ++peer) {
    if (peer == group.rank()) continue;
    const Message message{peer, tags::all_gather, "an owner's part of what all ranks hold"};
    for (const auto& part : parts[static_cast<std::size_t>(peer)])
      if (!part.empty()) transfers.push_back(group.receive(message, part));
    for (const auto& part : parts[static_cast<std::size_t>(group.rank())])
      if (!part.empty()) transfers.push_back(group.send(message, part));
  }
  for (const auto& transfer : transfers) wait(group, *transfer);
}

}  // namespace penstock::comm
