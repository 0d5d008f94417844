#pragma once

#include <vector>

#include "base/time_limit.h"
#include "partition/placement/problem.h"

namespace penstock::partition {

/// Stages in a row of which one replica stays in a node, at their best: no node of that kind has
/// better links. Only one replica of a pipeline is followed: others may cross between nodes on the
/// other side of a stage, which takes as long as the longest of them, not as all their messages.
struct RunKind {
  LinkCost within = {}, between = {};  // crossing a boundary inside the run, and at its ends
  int capacity = 1;                    // devices of the largest node
};

/// Stages of one class at their best: none of that class is faster or has less memory.
struct StageClass {
  std::size_t run = 0;      // the kind of run that it is part of
  double per_work = 1;      // seconds for a second's work on a device of speed 1
  LinkCost reduction = {};  // of gradients, for each micro-batch
  double memory = 0;        // bytes
  int devices_needed = 1;   // devices of the run's node
  bool limited = false;     // of which there are only so many
};

/// What is asked of a RunTable.
struct RunTableRequest {
  std::vector<RunKind> runs;
  std::vector<StageClass> classes;
  int limited = 0;        // stages of limited classes, at most
  int micro_batches = 1;  // that a replica runs in a step
  double limit = 0;       // seconds that no stage may take
  bool sums = false;      // least sum of loads, else the least slowest
  int stages = 0;         // of the only pipelines that are asked for; 0: any number
  const TimeLimit* time = nullptr;
};

/// A dynamic programme over (stages, first layer) from the layer sequence's end, which holds for
/// every number of stages at once: the least sum or slowest load of a pipeline that is made of
/// runs, in which no boundary is between nodes and whose stages take no more devices than a node
/// has; between two runs all links are those between nodes. `sequence` must outlive it.
class RunTable {
 public:
  RunTable(const SequenceLoad& sequence, RunTableRequest request);

  /// For so many stages; infinite where none fits in memory and the limit, and 0 where the time was
  /// over before it was known.
  double least(int stages);
  double limit() const { return request_.limit; }

 private:
  /// Of layers from each one on, cut into a number of stages.
  struct Row {
    std::vector<double> fresh;  // [limited left][layer]: where a run begins there
    // [run][limited left][layer][devices left in its node, less one]: where it goes on there
    std::vector<std::vector<double>> within;
    int begin = 0, end = 0;  // layers of interest: others are stale, and not read
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
  double most_work(int stages) const;

  const SequenceLoad& sequence_;
  RunTableRequest request_;
  Row row_, next_;  // of stages_behind_, and of one more while it is made
  int stages_behind_ = 0;
  std::vector<double> least_;               // [stages]
  double fastest_, fastest_unlimited_ = 0;  // work that a stage does in a second
};

}  // namespace penstock::partition
