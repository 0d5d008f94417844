#pragma once

#include <random>

#include "partition/schedule/schedule.h"

namespace penstock::test {

/// One random change to the lists: actions change places, are lost, come twice, or become others.
partition::Schedule corrupt(partition::Schedule schedule, std::mt19937& random);

}  // namespace penstock::test
