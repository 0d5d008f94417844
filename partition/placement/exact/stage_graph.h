#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time_limit.h"
#include "partition/placement/exact/rate_table.h"

namespace penstock::partition {

/// All placements of a grid as paths through a layered graph, after Held and Karp (1962). A state
/// stands for every beginning of a placement that uses the same devices and has the same ones in
/// its last stage and in the next: what can follow, and what that costs, is the same for all of
/// them. An edge places the next stage, by what comes behind it. Devices and whole nodes that may
/// be exchanged are tried once, and so are orders of replicas.
struct StageGraph {
  /// The most work that some stages, and that the fastest of them, can do in a second.
  struct Speeds {
    double together = 0, fastest = 0;
    void add(double speed) {
      together += speed;
      fastest = std::max(fastest, speed);
    }
  };

  /// What the next stage of `state` costs if `edge` follows: places in `rates`, of all replicas.
  const int* rates_of(int edge) const { return &edge_rates[edge * std::size_t(grid.replicas)]; }
  int edges_begin(int state) const { return first_edge[state]; }
  int edges_end(int state) const { return first_edge[state + 1]; }
  int states_begin(int placed) const { return first_state[placed]; }
  int states_end(int placed) const { return first_state[placed + 1]; }
  /// Of a path, a state for each stage.
  Placement placement(const std::vector<int>& path) const;

  Grid grid;
  std::vector<int> first_state;  // [stages placed]; the last has one state, without edges
  std::vector<int> first_edge;   // [state]
  std::vector<int> target;       // [edge]
  std::vector<int> edge_rates;   // [edge · replicas + r]
  std::vector<int> devices;      // [state · replicas + r]: the next stage's, by the last's sorted
  std::vector<int> memory;       // [state]: a place in `memories`, of the next stage
  std::vector<Speeds> before;    // [state]: of the placed stages
  std::vector<Speeds> from;      // [state]: of the others
  std::vector<Rate> rates;       // each once
  std::vector<double> memories;  // bytes, each once
};

struct GraphLimits {
  double slowest = 0;     // seconds that no stage may take, or infinite
  std::size_t edges = 0;  // at most
  const TimeLimit* time = nullptr;
};

/// The graph, without what can't do the layer sequence's work in stages of limits.slowest. Nothing
/// where it would have more than limits.edges, or the time is over before it has all.
std::optional<StageGraph> stage_graph(const PlacementProblem& problem, const Grid& grid,
                                      const GraphLimits& limits);

}  // namespace penstock::partition
