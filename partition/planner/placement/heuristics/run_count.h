#pragma once

#include <random>
#include <vector>

#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// The kind of a run: consecutive stages, without replicas, on devices of one class in one node.
struct RunKind {
  LinkCost within = {}, between = {};  // cost of a boundary inside the run, and at its ends
  int capacity = 1;                    // devices of the largest node
  double per_work = 1;                 // seconds per second of work on a device of speed 1
  double memory = 0;                   // bytes, of a device
  bool limited = false;                // RunRequest::limited bounds the number of its stages
};

/// The problem that RunCount solves.
struct RunRequest {
  std::vector<RunKind> kinds;
  int stages = 1;         // most stages of all kinds together
  int limited = 0;        // most stages of limited kinds
  int micro_batches = 1;  // per step
};

/// Consecutive stages that share a node.
struct StageRun {
  std::size_t kind = 0;  // index in RunRequest::kinds
  int stages = 0;
};

/// Decides for a limit on loads whether a pipeline of runs is possible, for any number of stages.
/// Stages of a run take no more devices than a node has, and no boundary inside a run crosses
/// nodes. Boundaries between runs do. A dynamic programme runs from the end of the layer sequence
/// over (first layer, devices left in the node, limited stages left). It keeps the fewest other
/// stages. It takes O(layers · layers of a stage · devices of nodes · limited). `sequence` must
/// outlive this object.
class RunCount {
 public:
  RunCount(const SequenceLoad& sequence, RunRequest request);

  /// Approximate number of steps for this limit.
  double effort(double limit) const;

  /// Returns false if no pipeline has all loads within `limit` seconds.
  bool possible(double limit);

  /// Returns a random pipeline for the limit of the last call of possible(), which must have
  /// returned true; else throws std::logic_error. Long runs are likelier.
  std::vector<StageRun> sample(std::mt19937_64& numbers) const;

 private:
  /// A stage with its end, and the state after it.
  struct Way {
    std::size_t kind;
    int last;
    std::size_t after;  // state
  };

  int layers() const { return sequence_.size(); }
  std::size_t at(int first, std::size_t state) const {
    return (static_cast<std::size_t>(first) * states_ + state) *
           (static_cast<std::size_t>(request_.limited) + 1);
  }
  /// Returns the state in which a run goes on with `more` + 1 devices left in its node.
  std::size_t within(std::size_t kind, int more) const { return within_[kind] + more; }
  bool in_run(std::size_t kind, std::size_t state) const {
    return state >= within_[kind] && state < within(kind, request_.kinds[kind].capacity - 1);
  }
  void put_first(std::size_t kind, int first);
  template <class Visit>
  void for_ends(const RunKind& run, int first, Visit visit) const;
  template <class Visit>
  void for_ways(std::size_t kind, int first, Visit visit) const;

  const SequenceLoad& sequence_;
  RunRequest request_;
  double limit_ = 0, min_per_work_;
  // States at a boundary: a run begins there, or goes on in a node with a number of devices left.
  std::size_t states_ = 1;
  std::vector<std::size_t> within_;  // [kind]: its first state
  std::vector<int> min_runs_;        // [first layer][state][limited left]: fewest other stages
};

}  // namespace penstock::partition
