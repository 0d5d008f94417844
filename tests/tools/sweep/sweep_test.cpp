#include "tools/sweep/sweep.h"

#include <gtest/gtest.h>

#include <optional>

#include "base/error.h"
#include "runtime/checkpoint/output_lock.h"
#include "tests/support/system/temporary_folder.h"

namespace penstock::tools {
namespace {

/// A sweep whose trainings are a script: it writes a validation at its last step, whose error rate
/// is its seed in percent, and notes that it ran. `ends` are lines for single seeds.
class SweepOfScripts : public testing::Test {
 protected:
  SweepEnd train(const std::vector<SweepPoint>& points, std::int64_t factor,
                 const std::string& ends = "") {
    test::write_file(in("train"), R"(for word in "$@"; do
  case $word in
    trainer.seed=*) seed=${word#*=} ;;
    trainer.steps=*) steps=${word#*=} ;;
    trainer.output=*) output=${word#*=} ;;
  esac
done
mkdir -p "$output"
echo "$seed to ${steps-9}" >> ")" + in("ran") +
                                      "\"\n" + ends + R"(
printf '{"step":%d,"loss":1}\n{"step":%d,"validation_loss":1,"validation_wer":0.%02d}\n' \
  "${steps-9}" "${steps-9}" "$seed" >> "$output/metrics.jsonl"
)");
    plan_.axes = {*parse_axis("trainer.seed=1..99")};
    plan_.random = true;
    plan_.halving.factor = factor;
    plan_.points = points;
    plan_.configurations.assign(points.size(), "c");
    SweepFolder folder(in("sweep"));
    folder.open(plan_);
    Sweep sweep(plan_, folder,
                {.command = {"bash", in("train")},
                 .steps = std::vector<std::int64_t>(points.size(), 9),
                 .parallel = parallel_,
                 .patience_s = patience_s_},
                [&](const std::string& text) {
                  said_ += text + "\n";
                  if (text.find("waits for") != std::string::npos && patience_s_ > 0) lock_.reset();
                });
    runtime::StopRequests stop({});
    const SweepEnd end = sweep.train(stop);
    outcome_ = sweep.outcome();
    return end;
  }

  /// Returns the sweep.json of these points.
  std::string saved_plan(const std::vector<SweepPoint>& points) {
    plan_.axes = {*parse_axis("trainer.seed=1..99")};
    plan_.random = true;
    plan_.points = points;
    plan_.configurations.assign(points.size(), "c");
    return sweep_json(plan_);
  }

  std::string in(const std::string& name) const { return (folder_.path() / name).string(); }
  std::string ran() const { return test::read_file(in("ran")); }
  RunState state(std::size_t run) const { return outcome_.runs[run - 1].result.state; }

  test::TemporaryFolder folder_;
  SweepPlan plan_;
  SweepOutcome outcome_;
  std::size_t parallel_ = 1;
  double patience_s_ = 600;
  std::string said_;
  std::optional<runtime::OutputLock> lock_;  // of a run; freed once the sweep says that it waits
};

TEST_F(SweepOfScripts, HalvingTrainsTheBestFurther) {
  EXPECT_EQ(train({{"50"}, {"30"}, {"70"}, {"40"}, {"20"}, {"60"}, {"80"}, {"90"}, {"95"}}, 3),
            SweepEnd::done);
  EXPECT_EQ(ran(),
            "50 to 1\n30 to 1\n70 to 1\n40 to 1\n20 to 1\n60 to 1\n80 to 1\n90 to 1\n95 to 1\n"
            "30 to 3\n40 to 3\n20 to 3\n20 to 9\n");
  EXPECT_EQ(state(5), RunState::done);
  EXPECT_EQ(state(2), RunState::paused);
  EXPECT_EQ(ranked_runs(outcome_).front(), 4u);
}

TEST_F(SweepOfScripts, AFailureNeverGoesOn) {
  EXPECT_EQ(train({{"10"}, {"30"}, {"20"}, {"40"}}, 2,
                  "if [ $seed = 10 ]; then echo 'penstock: it broke' >&2; exit 1; fi"),
            SweepEnd::done);
  EXPECT_EQ(ran(), "10 to 3\n30 to 3\n20 to 3\n40 to 3\n30 to 5\n20 to 5\n20 to 9\n");
  EXPECT_EQ(state(1), RunState::failed);
  EXPECT_EQ(outcome_.runs[0].result.error, "it broke");
}

TEST_F(SweepOfScripts, AWrongConfigurationEndsAll) {
  EXPECT_EQ(train({{"10"}, {"30"}, {"20"}}, 0, "if [ $seed = 30 ]; then exit 2; fi"),
            SweepEnd::misconfigured);
  EXPECT_EQ(ran(), "10 to 9\n30 to 9\n");
  EXPECT_EQ(state(2), RunState::waiting) << "it is tried again with the next command";
}

// Somebody stopped one training by its own signal.
TEST_F(SweepOfScripts, AStoppedRunIsNotDone) {
  EXPECT_EQ(train({{"10"}, {"30"}}, 0, "if [ $seed = 10 ]; then exit 85; fi"), SweepEnd::stopped);
  EXPECT_EQ(state(1), RunState::waiting);
  EXPECT_EQ(state(2), RunState::done);
  EXPECT_EQ(train({{"10"}, {"30"}}, 0), SweepEnd::done);
  EXPECT_EQ(ran(), "10 to 9\n30 to 9\n10 to 9\n");
}

TEST_F(SweepOfScripts, AFailureChangesNoEarlierRung) {
  const std::vector<SweepPoint> points = {{"10"}, {"30"}, {"20"}, {"40"}};
  const std::string ends = "if [ $seed-$steps = 10-5 ]; then exit 1; fi";
  EXPECT_EQ(train(points, 2, ends), SweepEnd::done);
  const std::string before = ran();
  EXPECT_EQ(before, "10 to 3\n30 to 3\n20 to 3\n40 to 3\n10 to 5\n20 to 5\n20 to 9\n");
  EXPECT_EQ(train(points, 2, ends), SweepEnd::done);
  EXPECT_EQ(ran(), before);
  EXPECT_EQ(state(1), RunState::failed);
  SweepFolder(in("sweep")).forget_failure(1);
  EXPECT_EQ(train(points, 2), SweepEnd::done);
  EXPECT_EQ(ran(), before + "10 to 5\n10 to 9\n") << "it goes on from the rung it failed in";
}

// The first is ended by SIGTERM before it could save, because the second is wrong.
TEST_F(SweepOfScripts, ARunThatIsStoppedHasNotFailed) {
  parallel_ = 2;
  EXPECT_EQ(train({{"10"}, {"30"}}, 0,
                  "if [ $seed = 10 ]; then touch " + in("up") +
                      "; while true; do sleep 0.01; done; fi\nwhile ! [ -e " + in("up") +
                      " ]; do sleep 0.01; done; exit 2"),
            SweepEnd::misconfigured);
  EXPECT_EQ(state(1), RunState::waiting);
  EXPECT_EQ(state(2), RunState::waiting);
}

TEST_F(SweepOfScripts, HalvingNeedsAMetric) {
  EXPECT_EQ(train({{"10"}, {"30"}, {"20"}, {"40"}}, 2, "exit 0"), SweepEnd::none_left);
  EXPECT_EQ(ran(), "10 to 3\n30 to 3\n20 to 3\n40 to 3\n");
  EXPECT_NE(said_.find("no run has a finite WER at step 3"), std::string::npos) << said_;
}

// A training outlives a sweep that was killed, until it has saved.
TEST_F(SweepOfScripts, AnOrphanIsAwaited) {
  lock_.emplace(in("sweep/run-002"));
  test::write_file(in("sweep/sweep.json"), saved_plan({{"10"}, {"30"}}));
  EXPECT_EQ(train({{"10"}, {"30"}}, 0), SweepEnd::done);
  EXPECT_NE(said_.find("run 2: waits for the end of another training in " + in("sweep/run-002")),
            std::string::npos)
      << said_;
  EXPECT_EQ(ran(), "10 to 9\n30 to 9\n");
}

TEST_F(SweepOfScripts, PatienceEnds) {
  lock_.emplace(in("sweep/run-002"));
  test::write_file(in("sweep/sweep.json"), saved_plan({{"10"}, {"30"}}));
  patience_s_ = 0;
  const std::string fault = test::message_of<CheckpointError>([&] {
    (void)train({{"10"}, {"30"}}, 0);
  });
  EXPECT_NE(fault.find("give the command again"), std::string::npos) << fault;
  EXPECT_FALSE(std::filesystem::exists(in("ran")));
  lock_.reset();
  EXPECT_EQ(train({{"10"}, {"30"}}, 0), SweepEnd::done) << "no failure was recorded";
  EXPECT_EQ(state(2), RunState::done);
}

}  // namespace
}  // namespace penstock::tools
