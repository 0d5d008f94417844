#include "runtime/pipeline/edge_tag.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "comm/tags.h"

namespace penstock::runtime {
namespace {

TEST(EdgeTag, IsThatOfOneEdgeAlone) {
  std::set<int> tags;
  for (int chunk = 0; chunk < comm::tags::edge_chunks; ++chunk)
    for (const bool gradient : {false, true}) {
      EXPECT_TRUE(comm::tags::is_edge(edge_tag(chunk, gradient)));
      tags.insert(edge_tag(chunk, gradient));
    }
  EXPECT_EQ(std::ssize(tags), 2 * comm::tags::edge_chunks);
}

TEST(EdgeTag, IsNoTagOfACollective) {
  for (const int tag : {comm::tags::barrier, comm::tags::failure, comm::tags::reduction})
    EXPECT_FALSE(comm::tags::is_edge(tag)) << tag;
}

TEST(EdgeTag, RefusesAChunkThatHasNone) {
  EXPECT_THROW(edge_tag(comm::tags::edge_chunks, false), CommError);
}

}  // namespace
}  // namespace penstock::runtime
