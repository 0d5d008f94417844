#pragma once

#include <random>

#include "partition/planner/search/problem.h"

namespace penstock::test {

/// A small step: one to three ranks of unlike speeds, of one chunk each or of two that go down and
/// up or round; up to five micro-batches; passes and messages of equal or unlike length, some
/// chunks recomputed; and in most a memory that binds. find_schedule() can solve each.
partition::ScheduleProblem random_step(std::mt19937& random);

}  // namespace penstock::test
