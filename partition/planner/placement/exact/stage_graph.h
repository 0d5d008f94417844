#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time_limit.h"
#include "partition/planner/placement/exact/rate_table.h"

namespace penstock::partition {

/// All placements of a grid as paths through a layered graph, after Held and Karp (1962). A state
/// stands for all beginnings of a placement with the same set of used devices, the same last stage
/// and the same next stage. They all have the same continuations, at the same costs. An edge
/// chooses the stage after the next one; this settles the next stage's cost. Devices and whole
/// nodes that may be exchanged are tried once, and so are orders of replicas.
struct StageGraph {
  /// Upper bounds on the work per second of some stages together, and of the fastest of them.
  struct Speeds {
    double together = 0, fastest = 0;
    void add(double speed) {
      together += speed;
      fastest = std::max(fastest, speed);
    }
  };

  /// Returns the cost of the next stage of a state if this edge follows: an index in `rates` for
  /// each replica.
  const int* rates_of(int edge) const { return &edge_rates[edge * std::size_t(grid.replicas)]; }
  int edges_begin(int state) const { return first_edge[state]; }
  int edges_end(int state) const { return first_edge[state + 1]; }
  int states_begin(int placed) const { return first_state[placed]; }
  int states_end(int placed) const { return first_state[placed + 1]; }
  /// Returns the placement of a path, which has one state per stage.
  Placement placement(const std::vector<int>& path) const;

  Grid grid;
  std::vector<int> first_state;  // [stages placed]; the last layer has one state, without edges
  std::vector<int> first_edge;   // [state]
  std::vector<int> target;       // [edge]
  std::vector<int> edge_rates;   // [edge · replicas + r]
  std::vector<int> devices;      // [state · replicas + r]: of the next stage, by the last's order
  std::vector<int> memory;       // [state]: index in `memories`, for the next stage
  std::vector<Speeds> before;    // [state]: of the stages before the next one
  std::vector<Speeds> from;      // [state]: of the next one and those after it
  std::vector<Rate> rates;       // distinct
  std::vector<double> memories;  // bytes, distinct
};

/// Limits of stage_graph().
struct GraphLimits {
  double slowest = 0;     // most seconds of a stage; may be infinite
  std::size_t edges = 0;  // most edges
  const TimeLimit* time = nullptr;
};

/// Returns the graph, without states from which the work can't be done in stages of limits.slowest.
/// Returns nothing if it would have more than limits.edges, or if the time is over before it is
/// built.
std::optional<StageGraph> stage_graph(const PlacementProblem& problem, const Grid& grid,
                                      const GraphLimits& limits);

}  // namespace penstock::partition
