#include "partition/planner/simulate/joint_step.h"

#include <algorithm>

namespace penstock::partition {
namespace {

/// Joint puts the pipelines of all replicas into one schedule. Replica r has `stride_` chunks, of
/// which the first and the last are empty and lie on the rank of their neighbour. So no message
/// passes from one pipeline to the next.
class Joint {
 public:
  Joint(const std::vector<const StepEstimate*>& replicas, const SharedLinks& shared)
      : replicas_(replicas), ranks_(static_cast<int>(first().ranks.size())) {
    stride_ = first().chunks() + 2;
    for (int r = 0; r < static_cast<int>(replicas.size()); ++r) add(r);
    durations_.compute = [this](const Action& action) {
      return replicas_[action.chunk / stride_]->durations().compute(own(action));
    };
    durations_.step = [this](int rank) { return step_of(rank); };
    if (replicas.front()->durations().network != nullptr) add_network(shared);
  }
  Joint(const Joint&) = delete;
  Joint& operator=(const Joint&) = delete;

  double period(Barrier barrier) const { return step_period(schedule_, durations_, barrier); }

 private:
  const Schedule& first() const { return replicas_.front()->schedule(); }
  /// Returns the action with the chunk's number within its own pipeline.
  Action own(Action action) const {
    action.chunk = action.chunk % stride_ - 1;
    return action;
  }
  double step_of(int rank) const {
    const Durations& durations = replicas_[rank / ranks_]->durations();
    return durations.step ? durations.step(rank % ranks_) : 0;
  }

  /// Appends a replica's ranks, and its chunks between the two empty ones. With two chunks on two
  /// ranks, replica 1 has chunks 4 to 7 on ranks 2 2 3 3.
  void add(int replica) {
    const Schedule& own = replicas_[replica]->schedule();
    schedule_.micro_batches = std::max(schedule_.micro_batches, own.micro_batches);
    auto& held_by = schedule_.chunk_rank;
    held_by.push_back(replica * ranks_ + own.chunk_rank.front());
    for (const int rank : own.chunk_rank) held_by.push_back(replica * ranks_ + rank);
    held_by.push_back(replica * ranks_ + own.chunk_rank.back());
    for (const auto& list : own.ranks) {
      auto& actions = schedule_.ranks.emplace_back(list);
      for (Action& action : actions) action.chunk += replica * stride_ + 1;
    }
  }

  /// Builds one network from each replica's own links, followed by the shared ones.
  void add_network(const SharedLinks& shared) {
    std::vector<int> offsets;
    for (const StepEstimate* replica : replicas_) {
      const auto& links = replica->durations().network->links;
      offsets.push_back(static_cast<int>(network_.links.size()));
      network_.links.insert(network_.links.end(), links.begin(), links.end());
    }
    const int first_shared = static_cast<int>(network_.links.size());
    for (const double bandwidth : shared.bandwidths) network_.links.push_back({0, bandwidth});
    network_.overlap = replicas_.front()->durations().network->overlap;
    // A message passes its own link first, with its latency, and then the shared ones, which have
    // none. So its rate is the lowest on any of them, and its latency counts once.
    network_.route = [this, offsets, first_shared, route = shared.route](int from, int to) {
      const int replica = from / ranks_;
      std::vector<int> links =
          replicas_[replica]->durations().network->route(from % ranks_, to % ranks_);
      for (int& link : links) link += offsets[replica];
      for (const int link : route(replica, from % ranks_, to % ranks_))
        links.push_back(first_shared + link);
      return links;
    };
    network_.bytes = [this](const Edge& edge, int micro_batch) {
      const Edge own{edge.producer % stride_ - 1, edge.consumer % stride_ - 1, edge.kind};
      return replicas_[edge.producer / stride_]->durations().network->bytes(own, micro_batch);
    };
    durations_.network = &network_;
  }

  const std::vector<const StepEstimate*>& replicas_;
  int ranks_ = 0, stride_ = 0;  // ranks of one pipeline; its chunks with the two empty ones
  Schedule schedule_;
  Network network_;
  Durations durations_;
};

}  // namespace

double joint_period(const std::vector<const StepEstimate*>& replicas, const SharedLinks& shared,
                    Barrier barrier) {
  return Joint(replicas, shared).period(barrier);
}

}  // namespace penstock::partition
