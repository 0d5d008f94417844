#include "runtime/profiling/links/link_speeds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "comm/threads.h"

namespace penstock::runtime {
namespace {

TEST(LinkSpeeds, AllRanksGetBothWaysBetweenNeighbours) {
  for (bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<std::vector<LinkSpeed>> of_ranks;
    comm::run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](comm::Communicator& ranks) {
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
  comm::run_as_threads({.ranks = 3}, [&](comm::Communicator& ranks) {
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
  comm::run_as_threads({.ranks = 2}, [](comm::Communicator& ranks) {
    std::string notes;
    static_cast<void>(
        link_speeds(ranks, {{0, 1}}, [&](int) { return std::make_unique<Noted>(notes); }));
    std::string trips;
    for (int i = 0; i < 20; ++i) trips += ranks.rank() == 0 ? "sr" : "rs";
    EXPECT_NE(notes.find("f" + trips + "f"), std::string::npos) << notes;
    EXPECT_EQ(notes.back(), 'f');
  });
}

TEST(LinkSpeeds, NoNodeHasTwoLinksAtOnce) {
  const std::vector<int> nodes{0, 0, 1, 1, 2};
  std::mutex mutex;
  std::map<std::pair<int, int>, int> open;  // ends of a pair
  const auto overlapping = [&](const std::pair<int, int>& pair) {
    return std::ranges::any_of(open, [&](const auto& other) {
      if (other.second == 0 || other.first == pair) return false;
      const std::set<int> busy{nodes[other.first.first], nodes[other.first.second]};
      return busy.contains(nodes[pair.first]) || busy.contains(nodes[pair.second]);
    });
  };
  struct Counted final : LinkEnd {
    explicit Counted(std::function<void()> closed) : closed_(std::move(closed)) {}
    ~Counted() override { closed_(); }
    void send(std::size_t, int) override {}
    void receive(std::size_t, int) override {}
    void compute(double) override {}
    void finish() override {}
    std::function<void()> closed_;
  };
  comm::run_as_threads({.ranks = 5}, [&](comm::Communicator& ranks) {
    const auto speeds = link_speeds(
        ranks, every_pair(5),
        [&](int peer) {
          const std::pair<int, int> pair = std::minmax({ranks.rank(), peer});
          const std::scoped_lock lock(mutex);
          EXPECT_FALSE(overlapping(pair));
          ++open[pair];
          return std::make_unique<Counted>([&, pair] {
            const std::scoped_lock lock(mutex);
            --open[pair];
          });
        },
        nodes);
    EXPECT_EQ(speeds.size(), 20u);
    for (const LinkSpeed& speed : speeds) EXPECT_GT(speed.latency_s, 0);
  });
  EXPECT_EQ(open.size(), 10u);
}

TEST(LinkSpeeds, OneRankHasNoLink) {
  comm::run_as_threads({.ranks = 1}, [](comm::Communicator& alone) {
    EXPECT_TRUE(link_speeds(alone, neighbours(1), host_links(alone)).empty());
  });
}

TEST(LinkOverlap, IsTheSameShareOnAllRanks) {
  for (const bool rendezvous : {false, true}) {
    std::mutex mutex;
    std::vector<std::vector<double>> of_ranks;
    comm::run_as_threads({.ranks = 3, .rendezvous = rendezvous}, [&](comm::Communicator& ranks) {
      const std::vector<double> shares = link_overlaps(ranks, {{2, 0}}, host_links(ranks));
      const std::scoped_lock lock(mutex);
      of_ranks.push_back(shares);
    });
    for (const std::vector<double>& shares : of_ranks) {
      EXPECT_EQ(shares, of_ranks.front());
      ASSERT_EQ(shares.size(), 2u);  // there and back
      for (const double share : shares) {
        EXPECT_GE(share, 0);
        EXPECT_LE(share, 1);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::runtime
