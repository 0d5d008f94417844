#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/quantities.h"
#include "comm/communicator.h"
#include "comm/tags.h"

namespace penstock::comm {
namespace {

/// Group renumbers ranks and moves tags: the tag t of group n is n · group_stride + t of the
/// parent. So messages of different groups, and of the parent, can't meet although they share its
/// edges. Progress and end are the parent's, as its ranks fail together.
class Group final : public Communicator {
 public:
  Group(Communicator& parent, const GroupOptions& options)
      : parent_(parent),
        ranks_(options.ranks),
        offset_(options.number * tags::group_stride),
        rank_(static_cast<int>(std::ranges::find(ranks_, parent.rank()) - ranks_.begin())) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(ranks_.size()); }

  std::unique_ptr<Transfer> send(const Message& message, std::span<const std::byte> data) override {
    return parent_.send(translated(message), data);
  }
  std::unique_ptr<Transfer> receive(const Message& message, std::span<std::byte> data) override {
    return parent_.receive(translated(message), data);
  }
  void progress() override { parent_.progress(); }
  Shutdown& shutdown() override { return parent_.shutdown(); }
  void abort(int exit_code) override { parent_.abort(exit_code); }

 private:
  /// Returns the message with the parent's rank and tag. A tag beyond the stride would be one of
  /// the next group, and is refused.
  Message translated(const Message& message) const {
    if (message.peer < 0 || message.peer >= size() || message.tag < 0 ||
        message.tag >= tags::group_stride)
      throw CommError(fmt::format("peer {} on tag {} ({}) does not exist in a group of {}",
                                  message.peer, message.tag, message.what,
                                  counted(ranks_.size(), "rank")));
    return {ranks_[static_cast<std::size_t>(message.peer)], message.tag + offset_, message.what};
  }

  Communicator& parent_;
  std::vector<int> ranks_;
  int offset_;
  int rank_;
};

}  // namespace

std::unique_ptr<Communicator> make_group(Communicator& parent, const GroupOptions& options) {
  const std::set<int> distinct(options.ranks.begin(), options.ranks.end());
  if (distinct.size() != options.ranks.size() || !distinct.contains(parent.rank()) ||
      *distinct.begin() < 0 || *distinct.rbegin() >= parent.size())
    throw CommError(
        fmt::format("a group needs distinct ranks below {}, and among them rank {}, "
                    "which makes it",
                    parent.size(), parent.rank()));
  return std::make_unique<Group>(parent, options);
}

}  // namespace penstock::comm
