#include "runtime/store/retry.h"

#include <gtest/gtest.h>

#include <vector>

namespace penstock::runtime {
namespace {

using std::chrono::milliseconds;

TEST(Retry, RepeatsOnlyWhatMayPass) {
  for (const int status : {408, 429, 500, 502, 503, 504}) EXPECT_TRUE(worth_repeating(status));
  for (const int status : {200, 301, 400, 403, 404, 409, 412, 501})
    EXPECT_FALSE(worth_repeating(status)) << status;
}

TEST(Retry, PausesGrowWithFullJitter) {
  std::vector<milliseconds> largest(12);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Backoff backoff({.first = milliseconds(100), .longest = milliseconds(3000), .seconds = 1e9},
                    seed, [] { return 0.0; });
    for (milliseconds& each : largest) each = std::max(each, backoff.next().value());
  }
  milliseconds limit(100);
  for (const milliseconds& each : largest) {
    EXPECT_LE(each, limit);
    EXPECT_GE(each, limit * 9 / 10);
    limit = std::min(limit * 2, milliseconds(3000));
  }
}

TEST(Retry, EndsWithItsTime) {
  double now = 0;
  Backoff backoff({.first = milliseconds(100), .longest = milliseconds(100), .seconds = 10}, 1,
                  [&] { return now; });
  EXPECT_TRUE(backoff.next().has_value());
  EXPECT_FALSE(backoff.next(milliseconds(10001)).has_value());
  now = 10;
  EXPECT_FALSE(backoff.next().has_value());
}

TEST(Retry, WaitsAsLongAsTheServerAsks) {
  Backoff backoff({.seconds = 100}, 1, [] { return 0.0; });
  EXPECT_EQ(backoff.next(milliseconds(7000)), milliseconds(7000));
}

}  // namespace
}  // namespace penstock::runtime
