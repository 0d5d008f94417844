#include "tests/comm/nccl/nccl_schedules.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

#include "comm/threads.h"
#include "layers/models/conformer.h"
#include "tests/support/runtime/training_job.h"

namespace penstock::comm {
namespace {

NcclSchedule named(const std::string& share, const std::string& how) {
  std::string name = share + "_" + how;
  std::ranges::replace(name, '-', '_');
  return {name, share, how};
}

/// Returns the part of the job that all ranks and the single reference rank have in common.
test::TrainingJob common_job(const NcclSchedule& schedule) {
  test::TrainingJob job = test::small_job();
  if (schedule.how == "selective")
    job.model = {.features = 17,
                 .family = layers::ConformerOptions{
                     .width = 12, .heads = 3, .layers = 2, .kernel = 5, .dropout = 0.1}};
  job.device = layers::DeviceKind::cuda;
  job.lanes = 4;
  job.steps = 3;
  job.order = {3, 0, 4, 1, 2};
  if (schedule.share == "postvalidation") {
    job.steps = 8;
    job.optimizer.clip_norm = test::clip_behind_plain_steps(job);
  }
  return job;
}

test::TrainingJob shared_job(const NcclSchedule& schedule, test::TrainingJob job, int ranks) {
  job.links = runtime::DeviceLinks::nccl;
  if (schedule.share == "replicas")
    job.replicas = ranks;
  else
    job.stages = ranks;
  if (schedule.share != "recompute") job.schedule = schedule.how;
  job.recompute = schedule.how == "stage";
  job.selective = schedule.how == "selective";
  job.post_validation = schedule.share == "postvalidation";
  return job;
}

}  // namespace

std::vector<NcclSchedule> nccl_schedules(int ranks) {
  std::vector<std::string> stages = {"1f1b", "interleaved", "zb-v", "gpipe"};
  if (ranks == 2)
    stages.insert(stages.end(),
                  {"zb-h1", "zb-h2", "found", "v-half", "interleaved-3", "dualpipe-v"});
  if (ranks == 3) stages = {"1f1b"};
  if (ranks == 4) stages.push_back("v-min");
  std::vector<NcclSchedule> schedules;
  for (const std::string& how : stages) schedules.push_back(named("stages", how));
  if (ranks != 3) schedules.push_back(named("replicas", "1f1b"));
  if (ranks == 2) {
    schedules.push_back(named("recompute", "selective"));
    schedules.push_back(named("recompute", "stage"));
    schedules.push_back(named("postvalidation", "zb-h2"));
  }
  return schedules;
}

void nccl_equals_one_rank(const NcclSchedule& schedule, Communicator& world) {
  const test::TrainingJob job = common_job(schedule);
  const test::TrainingOutcome alone =
      train_rank(job, *make_thread_communicators({.ranks = 1}).front());
  const test::TrainingOutcome together = train_rank(shared_job(schedule, job, world.size()), world);
  EXPECT_EQ(together.losses, alone.losses);
  EXPECT_EQ(together.norms, alone.norms);
  EXPECT_EQ(together.rolled_back > 0, schedule.share == "postvalidation");
  if (world.rank() == 0)
    std::cout << "figure: " << alone.losses.size() << " losses equal in every bit, "
              << together.rolled_back << " updates rolled back" << std::endl;
}

}  // namespace penstock::comm
