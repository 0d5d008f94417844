#pragma once

namespace emulated_cuda::test {

struct ThreeStreams {
  bool with_events;  // between them
};

/// Squares numbers that go up, are computed on and come down in three streams; how many are wrong.
int wrong_squares(const ThreeStreams& options);

}  // namespace emulated_cuda::test
