#pragma once

#include <vector>

#include "base/time_limit.h"
#include "partition/planner/placement/problem.h"

namespace penstock::partition {

/// Consecutive stages of which one replica stays in a node, with the best links of any node of the
/// kind. Only one replica of a pipeline is followed. Other replicas may cross nodes at other
/// boundaries of a stage; a stage takes as long as its slowest replica, not as all their messages.
struct RunKind {
  LinkCost within = {}, between = {};  // cost of a boundary inside the run, and at its ends
  int capacity = 1;                    // devices of the largest node
};

/// The best stage of one class: no stage of the class is faster or has more memory.
struct StageClass {
  std::size_t run = 0;      // index in RunTableRequest::runs
  double per_work = 1;      // seconds per second of work on a device of speed 1
  LinkCost reduction = {};  // of gradients, per micro-batch
  double memory = 0;        // bytes
  int devices_needed = 1;   // in the run's node
  bool limited = false;     // RunTableRequest::limited bounds their number
};

/// The problem that a RunTable solves.
struct RunTableRequest {
  std::vector<RunKind> runs;
  std::vector<StageClass> classes;
  int limited = 0;        // most stages of limited classes
  int micro_batches = 1;  // per step of a replica
  double limit = 0;       // most seconds of a stage
  bool sums = false;      // minimise the sum of loads; else the slowest load
  int stages = 0;         // the only argument of least(); 0: any
  const TimeLimit* time = nullptr;
};

/// The least sum of loads, or the least slowest load, of a pipeline that consists of runs. Stages
/// of a run take no more devices than a node has, and no boundary inside a run crosses nodes.
/// Boundaries between runs do. A dynamic programme runs from the end of the layer sequence over
/// (stages, first layer, devices left in the node, limited stages left). It serves all numbers of
/// stages. `sequence` must outlive this object.
class RunTable {
 public:
  RunTable(const SequenceLoad& sequence, RunTableRequest request);

  /// Returns the minimum for so many stages. It is infinite if none fits into memory and the limit,
  /// and 0 if the time is over before it is known.
  double min(int stages);
  double limit() const { return request_.limit; }

 private:
  /// Minima for the layers from each one on, cut into a fixed number of stages.
  struct Row {
    std::vector<double> fresh;  // [limited left][layer]: a run begins there
    // [run][limited left][layer][devices left in its node, less one]: a run goes on there
    std::vector<std::vector<double>> within;
    int begin = 0, end = 0;  // valid layers; the others are stale, and not read
  };

  int layers() const { return sequence_.size(); }
  std::size_t at(int limited_left, int layer) const {
    return static_cast<std::size_t>(limited_left) * (layers() + 1) + layer;
  }
  void clear(Row& row, int begin, int end) const;
  void extend();
  double pipeline() const;
  void put_first(const StageClass& stage_class, int limited_left, int first);
  template <class Visit>
  void for_ends(const StageClass& stage_class, int first, Visit visit) const;
  double join(double load, double rest) const;
  double max_work(int stages) const;

  const SequenceLoad& sequence_;
  RunTableRequest request_;
  Row row_, next_;  // for stages_behind_ stages, and for one more
  int stages_behind_ = 0;
  std::vector<double> min_;                 // [stages]
  double fastest_, fastest_unlimited_ = 0;  // work per second of a stage
};

}  // namespace penstock::partition
