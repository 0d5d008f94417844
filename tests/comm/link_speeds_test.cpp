#include "comm/link_speeds.h"

#include <gtest/gtest.h>

#include <mutex>

#include "comm/threads.h"

namespace penstock::comm {
namespace {

TEST(LinkSpeeds, AllRanksGetBothWaysBetweenNeighbours) {
  for (bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<std::vector<LinkSpeed>> of_ranks;
    run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](Communicator& ranks) {
      const std::vector<LinkSpeed> speeds = link_speeds(ranks, neighbours(3), host_links(ranks));
      const std::scoped_lock lock(mutex);
      of_ranks.push_back(speeds);
    });
    const std::vector<std::pair<int, int>> expected{{0, 1}, {1, 0}, {1, 2}, {2, 1}};
    for (const auto& speeds : of_ranks) {
      ASSERT_EQ(speeds.size(), expected.size());
      for (std::size_t i = 0; i < speeds.size(); ++i) {
        EXPECT_EQ(std::pair(speeds[i].from, speeds[i].to), expected[i]);
        EXPECT_GT(speeds[i].latency_s, 0);
        EXPECT_GT(speeds[i].bytes_per_s, 0);
        EXPECT_EQ(speeds[i].latency_s, of_ranks[0][i].latency_s);
        EXPECT_EQ(speeds[i].bytes_per_s, of_ranks[0][i].bytes_per_s);
      }
    }
  }
}

TEST(LinkSpeeds, AreOfEveryLinkThatIsAskedFor) {
  run_as_threads({.ranks = 3}, [&](Communicator& ranks) {
    const auto speeds = link_speeds(ranks, {{0, 2}, {2, 1}}, host_links(ranks));
    ASSERT_EQ(speeds.size(), 4u);
    EXPECT_EQ(speeds[1].from, 2);
    EXPECT_EQ(speeds[1].to, 0);
    EXPECT_EQ(speeds[2].to, 1);
    for (const LinkSpeed& speed : speeds) EXPECT_GT(speed.bytes_per_s, 0);
  });
}

/// Takes note of what is asked of it.
class Noted final : public LinkEnd {
 public:
  explicit Noted(std::string& notes) : notes_(notes) {}
  void send(std::size_t, int times) override { notes_ += std::string(times, 's'); }
  void receive(std::size_t, int times) override { notes_ += std::string(times, 'r'); }
  void compute(double) override { notes_ += 'c'; }
  void finish() override { notes_ += 'f'; }

 private:
  std::string& notes_;
};

TEST(LinkSpeeds, RoundTripsFollowWithoutAWaitBetween) {
  run_as_threads({.ranks = 2}, [](Communicator& ranks) {
    std::string notes;
    static_cast<void>(
        link_speeds(ranks, {{0, 1}}, [&](int) { return std::make_unique<Noted>(notes); }));
    std::string trips;
    for (int i = 0; i < 20; ++i) trips += ranks.rank() == 0 ? "sr" : "rs";
    EXPECT_NE(notes.find("f" + trips + "f"), std::string::npos) << notes;
    EXPECT_EQ(notes.back(), 'f');
  });
}

TEST(LinkSpeeds, OneRankHasNoLink) {
  run_as_threads({.ranks = 1}, [](Communicator& alone) {
    EXPECT_TRUE(link_speeds(alone, neighbours(1), host_links(alone)).empty());
  });
}

}  // namespace
}  // namespace penstock::comm
