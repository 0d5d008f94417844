#include "partition/planner/placement/exact/graph_sweep.h"

#include <algorithm>
#include <bit>
#include <ranges>

#include "partition/planner/cut/limits.h"

namespace penstock::partition {

// A pair (state, boundary) is live if some solution within the limits may pass through it. A call
// of min_sum() first finds the pairs from which the rest can be done. It goes backwards through
// the graph, with bit sets of boundaries, 64 at a time. It then drops pairs that no beginning
// reaches. Only then are loads added up, backwards again, over the pairs that are left. Pairs that
// are not live under some limits are not live under tighter ones, so the sets carry over from call
// to call.
GraphSweep::GraphSweep(const PlacementProblem& problem, const StageGraph& graph)
    : problem_(problem),
      graph_(graph),
      fits_(graph.memories.size() * graph.grid.stages, problem.sequence.size()),
      ends_(graph.rates.size(), problem.sequence.size()),
      words_(fits_.words()),
      live_(graph.memory.size() * words_, ~Word{0}),
      windows_(graph.memory.size()) {
  const SequenceLoad& sequence = problem.sequence;
  for (std::size_t row = 0; row < graph.memories.size() * graph.grid.stages; ++row) {
    const double max = graph.memories[row / graph.grid.stages];
    const int flying = in_flight(problem, graph.grid, static_cast<int>(row % graph.grid.stages));
    for (int first = 0; first < layers(); ++first)
      for (int last = first + 1; last <= layers(); ++last) {
        if (sequence.bytes_at_least(first, last, flying) > max * kRounding) break;
        if (sequence.bytes(first, last, flying) <= max) fits_.add(row, first, last);
      }
  }
}

std::optional<GraphCut> GraphSweep::min_sum(const GraphCutLimits& limits) {
  find_ends(limits.slowest);
  take_candidates(limits);
  if (!find_finishing(limits)) return std::nullopt;
  keep_reached();
  add_up(limits.sum);
  return walk();
}

bool GraphSweep::is_live(int state, int boundary) const { return has(live_, state, boundary); }

bool GraphSweep::has(const std::vector<Word>& boundaries, int state, int boundary) const {
  const Word word =
      boundaries[static_cast<std::size_t>(state) * words_ + boundary / EndMasks::kBits];
  return (word >> (boundary % EndMasks::kBits) & 1) != 0;
}

double GraphSweep::load(int edge, int first, int last) const {
  double max = 0;
  for (int r = 0; r < graph_.grid.replicas; ++r)
    max =
        std::max(max, graph_.rates[graph_.rates_of(edge)[r]].load(problem_.sequence, first, last));
  return max;
}

double& GraphSweep::rest(int state, int boundary) {
  return rest_[windows_[state].offset + boundary - windows_[state].begin];
}

/// Finds the ends of a stage within the limit, for each rate and first layer.
void GraphSweep::find_ends(double limit) {
  const SequenceLoad& sequence = problem_.sequence;
  ends_.clear();
  furthest_.assign(graph_.rates.size() * layers(), 0);
  for (std::size_t row = 0; row < graph_.rates.size(); ++row) {
    const Rate& rate = graph_.rates[row];
    const double reach = limit / rate.pace.per_work * kRounding;
    for (int first = 0; first < layers(); ++first)
      for (int last = first + 1; last <= layers() && sequence.work(first, last) <= reach; ++last)
        if (rate.load(sequence, first, last) <= limit) {
          ends_.add(row, first, last);
          furthest_[row * layers() + first] = last;
        }
  }
}

/// Calls visit(word, ends) for the live boundaries of an edge's target at which the edge's stage
/// can end, one word of bits at a time. Stops when visit() returns false.
template <class Visit>
void GraphSweep::for_ends(int placed, int state, int edge, int first, Visit visit) {
  const int* rates = graph_.rates_of(edge);
  const Window& window = windows_[graph_.target[edge]];
  int last = window.end - 1;
  for (int r = 0; r < graph_.grid.replicas; ++r)
    last = std::min(last, furthest_[static_cast<std::size_t>(rates[r]) * layers() + first]);
  if (last < window.begin) return;
  const Word* after = live(graph_.target[edge]);
  const Word* fits = fits_.of(graph_.memory[state] * graph_.grid.stages + placed, first);
  const int end = last / EndMasks::kBits;
  for (int word = std::max(first, window.begin) / EndMasks::kBits; word <= end; ++word) {
    Word ends = after[word] & fits[word];
    for (int r = 0; r < graph_.grid.replicas && ends != 0; ++r)
      ends &= ends_.of(rates[r], first)[word];
    if (ends != 0 && !visit(word, ends)) return;
  }
}

/// Returns the boundaries at which neither side has more work than its stages can do within the
/// limit. Work is monotonic in the boundary, so both ends are found by bisection.
GraphSweep::Window GraphSweep::promising(int placed, int state, double slowest) const {
  const SequenceLoad& sequence = problem_.sequence;
  const double before = slowest * graph_.before[state].together * kRounding;
  const double from = slowest * graph_.from[state].together * kRounding;
  const int last = placed == 0 ? 0 : layers() - (graph_.grid.stages - placed);
  Window window{.begin = placed, .end = last + 1};
  const auto boundaries = std::views::iota(window.begin, window.end);
  window.begin = *std::ranges::partition_point(
      boundaries, [&](int boundary) { return sequence.work(boundary, layers()) > from; });
  if (placed == 0) return window;
  window.end = *std::ranges::partition_point(
      boundaries, [&](int boundary) { return sequence.work(0, boundary) <= before; });
  return window;
}

/// True if the fastest stages on either side of the boundary can do the work in a sum of `max`.
bool GraphSweep::promising_sum(int state, int boundary, double max) const {
  const SequenceLoad& sequence = problem_.sequence;
  const double left = sequence.work(boundary, layers()) / graph_.from[state].fastest;
  const double done = boundary == 0 ? 0 : sequence.work(0, boundary) / graph_.before[state].fastest;
  return left + done <= max * kRounding;
}

/// Starts from the live pairs of the previous call, unless the limits are looser now. A solution
/// within limits is within looser ones, too, so no other pair may be live.
void GraphSweep::take_candidates(const GraphCutLimits& limits) {
  if (limits.slowest > limits_.slowest || limits.sum > limits_.sum)
    std::ranges::fill(live_, ~Word{0});
  limits_ = limits;
  std::swap(candidates_, live_);
  live_.assign(candidates_.size(), 0);
}

/// Marks the pairs live from which the rest can be done. Returns true if a whole path can.
///   live(state after the last stage, layers)
///   live(state, first) if it is a promising candidate and, for some edge and end, the stage
///     [first, end) fits, no replica exceeds the limit, and live(edge's target, end)
bool GraphSweep::find_finishing(const GraphCutLimits& limits) {
  const int stages = graph_.grid.stages;
  for (int state = graph_.states_begin(stages); state < graph_.states_end(stages); ++state) {
    live(state)[layers() / EndMasks::kBits] |= Word{1} << (layers() % EndMasks::kBits);
    windows_[state] = {.begin = layers(), .end = layers() + 1};
  }
  for (int placed = stages - 1; placed >= 0; --placed)
    for (int state = graph_.states_begin(placed); state < graph_.states_end(placed); ++state) {
      const Window window = promising(placed, state, limits.slowest);
      Window& own = windows_[state] = {.begin = window.end, .end = window.begin};
      for (int first = window.begin; first < window.end; ++first) {
        if (!has(candidates_, state, first) || !promising_sum(state, first, limits.sum)) continue;
        bool found = false;
        for (int edge = graph_.edges_begin(state); !found && edge < graph_.edges_end(state); ++edge)
          for_ends(placed, state, edge, first, [&](int, Word) {
            found = true;
            return false;
          });
        if (!found) continue;
        live(state)[first / EndMasks::kBits] |= Word{1} << (first % EndMasks::kBits);
        own.begin = std::min(own.begin, first);
        own.end = first + 1;
      }
    }
  for (int state = graph_.states_begin(0); state < graph_.states_end(0); ++state)
    if (is_live(state, 0)) return true;
  return false;
}

/// Drops live pairs that no path from a start reaches, and sets the windows.
void GraphSweep::keep_reached() {
  // Edges lead to states with one more placed stage. So `reached` is complete for a state when the
  // loop comes to it.
  std::vector<Word> reached(live_.size(), 0);
  for (int state = graph_.states_begin(0); state < graph_.states_end(0); ++state)
    reached[state * words_] = 1;
  std::size_t offset = 0;
  for (int placed = 0; placed <= graph_.grid.stages; ++placed)
    for (int state = graph_.states_begin(placed); state < graph_.states_end(placed); ++state) {
      Window window{.begin = layers(), .end = 0, .offset = offset};
      for (int first = 0; first <= layers(); ++first) {
        Word* row = live(state);
        const std::size_t word = first / EndMasks::kBits;
        row[word] &= reached[state * words_ + word];
        if (!is_live(state, first)) continue;
        window.begin = std::min(window.begin, first);
        window.end = first + 1;
        for (int edge = graph_.edges_begin(state); edge < graph_.edges_end(state); ++edge)
          for_ends(placed, state, edge, first, [&](int at, Word ends) {
            reached[graph_.target[edge] * words_ + at] |= ends;
            return true;
          });
      }
      windows_[state] = window;
      offset += std::max(0, window.end - window.begin);
    }
  rest_.assign(offset, kInfeasible);
}

/// Returns the edge and end with the least sum from a state and boundary on.
GraphSweep::Step GraphSweep::best_step(int placed, int state, int first) {
  Step best{.value = kInfeasible};
  for (int edge = graph_.edges_begin(state); edge < graph_.edges_end(state); ++edge)
    for_ends(placed, state, edge, first, [&](int word, Word ends) {
      for (; ends != 0; ends &= ends - 1) {
        const int end = word * EndMasks::kBits + std::countr_zero(ends);
        const double after = rest(graph_.target[edge], end);
        if (after >= best.value) continue;
        const double own = load(edge, first, end);
        if (own + after < best.value) best = {own + after, own, edge, end};
      }
      return true;
    });
  return best;
}

/// Computes the least sum of loads from each live pair on. A pair is dropped if that sum and the
/// least that the stages before may take exceed `max`.
///   rest(state after the last stage, layers) = 0
///   rest(state, first) = min over edges and ends of load(edge, first, end) + rest(target, end)
void GraphSweep::add_up(double max) {
  const SequenceLoad& sequence = problem_.sequence;
  const int stages = graph_.grid.stages;
  for (int state = graph_.states_begin(stages); state < graph_.states_end(stages); ++state)
    rest(state, layers()) = 0;
  for (int placed = stages - 1; placed >= 0; --placed)
    for (int state = graph_.states_begin(placed); state < graph_.states_end(placed); ++state)
      for (int first = windows_[state].begin; first < windows_[state].end; ++first) {
        if (!is_live(state, first)) continue;
        const double value = best_step(placed, state, first).value;
        const double before =
            first == 0 ? 0 : sequence.work(0, first) / graph_.before[state].fastest;
        if (value + before <= max * kRounding)
          rest(state, first) = value;
        else
          live(state)[first / EndMasks::kBits] &= ~(Word{1} << (first % EndMasks::kBits));
      }
}

/// Follows the best steps from the best start.
std::optional<GraphCut> GraphSweep::walk() {
  int state = graph_.states_begin(0), first = 0;
  double min = kInfeasible;
  for (int start = state; start < graph_.states_end(0); ++start)
    if (is_live(start, 0) && rest(start, 0) < min) {
      min = rest(start, 0);
      state = start;
    }
  if (min == kInfeasible) return std::nullopt;
  GraphCut cut;
  // rest(state, first) is the least sum of what is left; the best step attains it.
  for (int placed = 0; placed < graph_.grid.stages; ++placed) {
    const Step step = best_step(placed, state, first);
    cut.path.push_back(state);
    cut.sum += step.load;
    cut.slowest = std::max(cut.slowest, step.load);
    state = graph_.target[step.edge];
    first = step.end;
  }
  return cut;
}

}  // namespace penstock::partition
