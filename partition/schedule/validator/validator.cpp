#include "partition/schedule/validator/validator.h"

#include "partition/schedule/validator/completeness.h"
#include "partition/schedule/validator/message_queues.h"
#include "partition/schedule/validator/progress.h"

namespace penstock::partition {

ScheduleProof validate(const Schedule& schedule) {
  check_complete(schedule);
  check_progress(schedule, match_messages(schedule));
  ScheduleProof proof;
  for (int chunk = 0; chunk < schedule.chunks(); ++chunk) {
    proof.in_flight.push_back(count_in_flight(schedule, chunk));
  }
  return proof;
}

}  // namespace penstock::partition
